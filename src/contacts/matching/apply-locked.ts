import type { Db } from '../../db/connect.ts'
import { addressIdentity } from '../../people/consent/consent.ts'
import { readConsentFacts } from '../../people/consent/consent-fact-store.ts'
import type { ConsentFacts } from '../../people/consent/consent-ledger.ts'
import type { Locked } from '../../people/matching/identity-lock.ts'
import { phoneIdentity } from '../../platform/text/phone.ts'
import { type Batch, type Item, needsFacts } from './contact-batch.ts'

/** Applies items to their matches, again with consent facts where these matter. */
export async function applyLocked(
  tx: Db,
  companyId: number,
  items: readonly Pick<Item, 'write' | 'emailKey' | 'browser'>[],
  { matches, areKnown }: Locked,
  apply: (facts: ConsentFacts | undefined) => Batch | Promise<Batch>,
): Promise<Batch> {
  const batch = await apply(undefined)
  const heldPhones = new Set(matches.map((match) => match.phoneIdentity))
  if (!needsFacts(batch, areKnown, heldPhones) && !items.some(mayEndOptOut)) return batch
  const phones = items.flatMap(({ write }) => (write.phone ? [phoneIdentity(write.phone)] : []))
  const addresses = items.flatMap(({ emailKey }) => (emailKey === null ? [] : [addressIdentity(emailKey)]))
  const keys = [
    ...[...phones, ...addresses].map((identity) => ({ companyId, identity })),
    ...matches.map((match) => ({ companyId, contactId: match.id, identity: match.phoneIdentity })),
  ]
  const factsOf = await readConsentFacts(tx, keys, ['email', 'whatsapp'])
  return apply(factsOf(companyId))
}

/** A browser key's opt-in must not end an opt-out. */
const mayEndOptOut = ({ browser, write }: Pick<Item, 'write' | 'browser'>): boolean =>
  browser !== undefined && (write.emailConsent === true || write.whatsappConsent === true)
