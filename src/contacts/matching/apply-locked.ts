import type { Db } from '../../db/connect.ts'
import { phoneIdentity } from '../../text/phone.ts'
import { addressIdentity } from '../consent/consent.ts'
import { readConsentFacts } from '../consent/consent-fact-store.ts'
import type { ConsentFacts } from '../consent/consent-ledger.ts'
import { type Batch, type Item, needsFacts } from './contact-batch.ts'
import type { Locked } from './identity-lock.ts'

/** Applies items to what they match, a second time with what the ledger of consent says of them where that matters. */
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

/** Whether a key of a browser opts in: it must not end an opt-out. */
const mayEndOptOut = ({ browser, write }: Pick<Item, 'write' | 'browser'>): boolean =>
  browser !== undefined && (write.emailConsent === true || write.whatsappConsent === true)
