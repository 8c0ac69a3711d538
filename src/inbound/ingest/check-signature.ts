import type { BodyReader } from '../handling/bodies/body-reader.ts'
import type { SecretCache } from './secret-cache.ts'
import type { Credentials, Proof, Requirement } from './signature.ts'

/**
 * `proven`: the body names senders or accounts with secrets, and proves them. `partly`: it proves some of them. `unproven`: it
 * names none. `refused`: it proves none of those that it names. The body is the one that was passed in, perhaps in other memory.
 */
type Verdict = { verdict: 'proven' | 'partly' | 'unproven'; body: Buffer; proof: Proof } | typeof REFUSED
const REFUSED = { verdict: 'refused' } as const

/** The body that is passed in may be empty afterwards. */
export type SignatureCheck = (body: Buffer, credentials: Credentials) => Promise<Verdict>

/**
 * Makes the check of what a body proves (decisions: Provider-facing webhook): a body about senders that carry an app
 * secret must be signed with it, over its raw bytes; a body about senders that carry a webhook secret must bring that
 * secret. For an account, the secrets of any number on it are enough. If only some secrets are proven, each item must prove its own
 * number later (`verifyEarly`). Nothing is parsed: one bounded scan finds at least the ids that the parser finds later. A body with
 * more ids than a provider would send is refused while any sender carries a secret. Without any, bodies are not read here.
 *
 * For connected numbers the check is made once, before the body is stored: a body that was stored before its number got a
 * secret is handled.
 */
export function createSignatureCheck(
  secrets: SecretCache,
  events: Pick<BodyReader, 'findIds' | 'prove'>,
): SignatureCheck {
  const prove = async (body: Buffer, credentials: Credentials, required: readonly Requirement[]): Promise<Verdict> => {
    const proven = await events.prove(body, { credentials, required })
    if (proven === undefined || proven.proven === 'none') return REFUSED
    const { body: bytes, proof } = proven
    if (proven.proven === 'some') return { verdict: 'partly', body: bytes, proof }
    return { verdict: required.length > 0 ? 'proven' : 'unproven', body: bytes, proof }
  }
  return async (body, credentials) => {
    if (!(await secrets.isAny())) return prove(body, credentials, [])
    const found = await events.findIds(body)
    if (found?.ids === undefined) return REFUSED
    return prove(found.body, credentials, await secrets.requiredBy([...found.ids]))
  }
}
