import type { BodyReader } from '../handling/bodies/body-reader.ts'
import type { SecretCache } from './secret-cache.ts'
import { isProven, type Proof } from './signature.ts'

/**
 * `proven`: the body names senders with secrets, and proves all of these. `unproven`: it names none. `refused`: it does not
 * prove a secret that it has to.
 */
export type Verdict = 'proven' | 'unproven' | 'refused'

/** Answers at once where nothing has to be looked up. */
export type SignatureCheck = (body: Buffer, proof: Proof) => Verdict | Promise<Verdict>

/**
 * Makes the check of what a body proves (decisions: Provider-facing webhook): a body about senders that carry an app
 * secret must be signed with it, over its raw bytes; a body about senders that carry a webhook secret must bring that
 * secret. Nothing is parsed: one bounded scan finds at least the ids that the parser finds later. A body that names more
 * ids than a provider would is refused while any sender carries a secret. Without any, bodies are not read here.
 *
 * For connected numbers the check is made once, before the body is stored: a body that was stored before its number got a
 * secret is handled.
 */
export function createSignatureCheck(secrets: SecretCache, events: Pick<BodyReader, 'idsOf'>): SignatureCheck {
  const checkAll = async (body: Buffer, proof: Proof): Promise<Verdict> => {
    if (!(await secrets.isAny())) return 'unproven'
    const ids = await events.idsOf(body)
    if (ids === undefined) return 'refused'
    const required = await secrets.requiredBy([...ids])
    if (required.appSecrets.length + required.webhookSecrets.length === 0) return 'unproven'
    return isProven(body, proof, required) ? 'proven' : 'refused'
  }
  return (body, proof) => (secrets.isAny() === false ? 'unproven' : checkAll(body, proof))
}
