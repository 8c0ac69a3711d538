import type { BodyReader } from '../handling/bodies/body-reader.ts'
import type { SecretCache } from './secret-cache.ts'
import type { Credentials, Proof, Requirement } from './signature.ts'

/** `unproven` needs no secrets; `refused` proves none of the required ones, `partly` proves some. */
type Verdict = { verdict: 'proven' | 'partly' | 'unproven'; body: Buffer; proof: Proof } | typeof REFUSED
const REFUSED = { verdict: 'refused' } as const

/** Can empty the Buffer passed in. */
export type SignatureCheck = (body: Buffer, credentials: Credentials) => Promise<Verdict>

/**
 * Creates the origin check (decisions: Provider-facing webhook). Senders with an app secret require a signature over
 * the raw bytes, those with a webhook secret that secret. After a partial proof each item must prove its own number
 * later (`verifyEarly`). A bounded scan finds at least the ids the parser will find, and refuses bodies with too many.
 * Skipped while no sender has a secret. An account's event can be proven by any number on the account. Stored events are not
 * checked again: an event stored before its number got a secret is handled.
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
