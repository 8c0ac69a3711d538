import type { Db } from '../../db/connect.ts'
import { addressIdentity, type ConsentEntry, latestConsent } from '../../people/consent/consent.ts'
import { readConsentFacts } from '../../people/consent/consent-fact-store.ts'
import {
  type ConsentFacts,
  type ConsentLedger,
  type ConsentStatement,
  contactConsent,
  createConsentLedger,
  NO_FACTS,
  relatedContacts,
  stateConsents,
  toLedgerContact,
  whatsappConsent,
  withoutReplaced,
} from '../../people/consent/consent-ledger.ts'
import { shownConsents } from '../../people/consent/shown-consent.ts'
import type { ContactWrite } from '../../people/contact-record.ts'
import type { ContactState } from '../../people/contact-store.ts'
import type { Locked } from '../../people/matching/identity-lock.ts'
import type { Match, Named } from '../../people/matching/identity-store.ts'
import { type BatchContact, emailKeyOf, indexContacts, newBatchContact } from '../../people/person-contact.ts'
import { mapInStretches } from '../../platform/clock.ts'
import { phoneIdentity } from '../../platform/text/phone.ts'
import { type BrowserRights, browserWrite } from './browser-write.ts'
import { applyWrite, type ContactChanges, customFieldsFault, isSame } from './contact-change.ts'

/** A write. An id applies only while email and phone are equal; otherwise the matching rules decide. */
export type Item = Named & {
  readonly write: ContactWrite
  readonly browser?: BrowserRights | undefined
}

/** `refused`: custom fields exceed their limits, or the write has no identity. */
export type ItemResult = {
  readonly target: BatchContact
  readonly kind: 'created' | 'updated' | 'unchanged' | 'refused'
  readonly state: ContactState
  readonly consentStatements: readonly ConsentStatement[]
  readonly fault?: ItemFault
}

export type ItemFault = { readonly path: 'customFields' | ''; readonly message: string }

const NAMELESS = 'must have an email or a phone'

export type Batch = {
  readonly results: readonly ItemResult[]
  readonly ledger: ConsentLedger
  readonly hasFacts: boolean
}

export type WhenFull = 'refuse' | 'keep'

/** Above all ids, so that new contacts are younger than known ones. */
const FIRST_NEW_ID = 2 ** 52

type ApplyOptions = {
  whenFull: WhenFull
  source: string
  /** The contact to update, whichever email and phone the write has. */
  existing?: Match
}

/** Applies items to their matches, again with consent facts where these matter. */
export async function applyLocked(
  tx: Db,
  companyId: number,
  items: readonly Item[],
  { matches, areKnown }: Locked,
  options: ApplyOptions,
): Promise<Batch> {
  const batch = await applyItems(items, matches, options)
  const heldPhones = new Set(matches.map((match) => match.phoneIdentity))
  if (!needsFacts(batch, areKnown, heldPhones) && !items.some(mayEndOptOut)) return batch
  const phones = items.flatMap(({ write }) => (write.phone ? [phoneIdentity(write.phone)] : []))
  const addresses = items.flatMap(({ emailKey }) => (emailKey === null ? [] : [addressIdentity(emailKey)]))
  const keys = [
    ...[...phones, ...addresses].map((identity) => ({ companyId, identity })),
    ...matches.map((match) => ({ companyId, contactId: match.id, identity: match.phoneIdentity })),
  ]
  const factsOf = await readConsentFacts(tx, keys, ['email', 'whatsapp'])
  return applyItems(items, matches, options, factsOf(companyId))
}

/** A browser key's opt-in must not end an opt-out. */
const mayEndOptOut = ({ browser, write }: Item): boolean =>
  browser !== undefined && (write.emailConsent === true || write.whatsappConsent === true)

/**
 * Applies items in order, in memory (spec: Contacts, Matching rules), without blocking the event loop. `matches` must
 * hold every possible match: see `readMatches`. Without facts, known contacts keep their consent: see `needsFacts`.
 */
export async function applyItems(
  items: readonly Item[],
  matches: readonly Match[],
  options: ApplyOptions,
  facts?: ConsentFacts,
): Promise<Batch> {
  const { existing } = options
  const index = indexContacts(matches)
  const batch = { ledger: createConsentLedger(facts ?? NO_FACTS), hasFacts: facts !== undefined }
  const updated = existing && newBatchContact(existing.id, existing)
  const results = await mapInStretches(items, (item, place) => {
    const target = updated ?? index.find(item) ?? newBatchContact(FIRST_NEW_ID + place)
    const result = applyItem(batch, target, permittedWrite(batch.ledger, target.state, item), options)
    if (result.kind !== 'refused') index.move(target, result.state)
    return result
  })
  return { ...batch, results }
}

function permittedWrite(ledger: ConsentLedger, before: ContactState | undefined, { browser, write }: Item) {
  if (browser === undefined) return write
  const contact = before && toLedgerContact(before)
  return browserWrite(before, write, browser, (channel, identity) => {
    if (identity === undefined) return contact !== undefined && isRefused(contactConsent(ledger, contact, channel))
    const entries = [...(ledger.entriesByIdentity.get(identity) ?? [])].filter((entry) => entry.channel === channel)
    return (
      isRefused(latestConsent(entries)) || (channel === 'whatsapp' && isRefused(whatsappConsent(ledger, [identity])))
    )
  })
}

const isRefused = (entry: ConsentEntry | undefined): boolean => entry?.value === false

function applyItem(
  { ledger, hasFacts }: Pick<Batch, 'ledger' | 'hasFacts'>,
  target: BatchContact,
  write: ContactWrite,
  { whenFull, source }: ApplyOptions,
): ItemResult {
  const before = target.state
  const applied = applyWrite(target.id, before, write)
  const fault = write.customFields && customFieldsFault(applied.customFields)
  if (fault !== undefined && whenFull === 'refuse') {
    return {
      target,
      kind: 'refused',
      state: applied,
      consentStatements: [],
      fault: { path: 'customFields', message: fault },
    }
  }
  if (before === undefined && applied.email === null && applied.phone === null) {
    return { target, kind: 'refused', state: applied, consentStatements: [], fault: { path: '', message: NAMELESS } }
  }
  const accepted = fault === undefined ? applied : { ...applied, customFields: before?.customFields ?? {} }
  const consentStatements = stateConsents(ledger, accepted, write, source)
  const state = hasFacts || target.existing === undefined ? withShownConsents(ledger, accepted) : accepted
  const kind = before === undefined ? 'created' : isSame(before, state) ? 'unchanged' : 'updated'
  return { target, kind, state, consentStatements }
}

const targetsOf = ({ results }: Batch): BatchContact[] => [
  ...new Set(results.filter(({ kind }) => kind !== 'refused').map(({ target }) => target)),
]

/** Returns whether consent entries outside the batch can affect the result. */
function needsFacts(batch: Batch, areKnown: boolean, heldPhones: ReadonlySet<string | null>): boolean {
  if (batch.hasFacts) return false
  return batch.results.some(({ kind, target: { existing }, state, consentStatements }) => {
    if (kind === 'refused' || kind === 'unchanged') return consentStatements.length > 0 && existing !== undefined
    if (existing === undefined) return areKnown || (consentStatements.length > 0 && isHeld(heldPhones, state))
    return (
      consentStatements.length > 0 ||
      emailKeyOf(existing) !== emailKeyOf(state) ||
      existing.phoneIdentity !== state.phoneIdentity
    )
  })
}

const isHeld = (heldPhones: ReadonlySet<string | null>, { phoneIdentity }: ContactState): boolean =>
  phoneIdentity !== null && heldPhones.has(phoneIdentity)

const withShownConsents = (ledger: ConsentLedger, state: ContactState): ContactState => ({
  ...state,
  ...shownConsents(ledger, toLedgerContact(state)),
})

/** Returns each changed contact once, in its last state, with all statements; `all` includes unchanged contacts. */
export function changesOf(batch: Batch, { all = false } = {}): ContactChanges {
  const { ledger, hasFacts } = batch
  const targets = targetsOf(batch)
  const contacts = targets.flatMap(({ id, existing, state }) => {
    if (state === undefined) return []
    // A later item's statement may affect an earlier contact.
    const last = hasFacts || existing === undefined ? withShownConsents(ledger, state) : state
    return all || existing === undefined || !isSame(existing, last) ? [{ existing, state: { ...last, id } }] : []
  })
  return {
    contacts,
    consentStatements: withoutReplaced(
      batch.results.flatMap(({ target, consentStatements }) =>
        consentStatements.map((one) => ({ ...one, contactId: target.id })),
      ),
    ),
    others: hasFacts ? othersOf(batch, targets) : [],
  }
}

/** Other contacts sharing a number or customer with one whose consent or number changed. */
function othersOf({ ledger, results }: Batch, targets: readonly BatchContact[]): number[] {
  const withStatement = new Set(
    results.filter(({ consentStatements }) => consentStatements.length > 0).map(({ target }) => target),
  )
  const own = new Set(targets.map(({ existing }) => existing?.id))
  const related = targets.flatMap((target) => {
    const { existing, state, leftPhones } = target
    const hasMoved = state !== undefined && existing?.phoneIdentity !== state.phoneIdentity
    if (state === undefined || !(withStatement.has(target) || hasMoved || leftPhones.size > 0)) return []
    return [toLedgerContact(state), ...leftPhones].flatMap((one) => relatedContacts(ledger, one))
  })
  return [...new Set(related.map(({ id }) => id))].filter((id) => id < FIRST_NEW_ID && !own.has(id))
}
