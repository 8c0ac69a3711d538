import { emailKey } from '../../platform/text/email-address.ts'
import type { ContactState } from '../contact-store.ts'
import type { Channel, ConsentEvidence, ContactWrite } from '../members/contact-record.ts'
import { ERASURE } from './consent.ts'
import {
  addEntryNow,
  type ConsentLedger,
  consentIdentity,
  contactConsent,
  isNew,
  type LedgerContact,
  putContact,
} from './consent-ledger.ts'
import type { NewConsent } from './consent-store.ts'

export type ConsentStatement = {
  readonly contactId: number
  readonly channel: Channel
  readonly identity: string | null
  readonly value: boolean
  /** The identical stored entry to replace. */
  readonly repeats: number | null
  readonly entryId: number
  readonly replaces: number | null
  readonly evidence: ConsentEvidence
}

const NO_EVIDENCE: ConsentEvidence = { saidAt: null, ip: null }

/** Returns a write's statements, and adds them and the contact's new state to the ledger for later writes. */
export function stateConsents(
  ledger: ConsentLedger,
  state: ContactState,
  write: ContactWrite,
  source: string,
): ConsentStatement[] {
  const contact = toLedgerContact(state)
  putContact(ledger, contact)
  return CHANNELS.flatMap(({ channel, member }) => {
    const value = write[member]
    if (value === undefined) return []
    const evidence = write.evidence?.[channel] ?? NO_EVIDENCE
    const { saidAt } = evidence
    const identity = consentIdentity(ledger, contact, channel)
    const before = contactConsent(ledger, contact, channel)
    const isRepeated =
      before?.value === value &&
      before.identity === identity &&
      before.contactId === contact.id &&
      before.source === source
    if (isRepeated && saidAt !== null && before.saidAt >= saidAt) return []
    const replaces = isRepeated && isNew(before) ? before.id : null
    const stored = isRepeated && replaces === null ? before.id : (before?.repeats ?? null)
    const repeats = isRepeated ? stored : null
    const entryId = addEntryNow(ledger, { channel, identity, contactId: contact.id, value, saidAt, source, repeats })
    return [{ contactId: contact.id, channel, identity, value, repeats, entryId, replaces, evidence }]
  })
}

export function withoutReplaced(statements: readonly ConsentStatement[]): ConsentStatement[] {
  const replaced = new Set(statements.map(({ replaces }) => replaces))
  return statements.filter(({ entryId }) => !replaced.has(entryId))
}

export const CHANNELS = [
  { channel: 'email', member: 'emailConsent' },
  { channel: 'whatsapp', member: 'whatsappConsent' },
] as const satisfies readonly { channel: Channel; member: keyof ContactWrite }[]

export const toLedgerContact = (state: ContactState): LedgerContact => ({
  id: state.id,
  emailKey: state.email === null ? null : emailKey(state.email),
  phoneIdentity: state.phoneIdentity,
  isLiving: true,
  emailConsent: state.emailConsent,
  whatsappConsent: state.whatsappConsent,
})

/** Returns a deleted contact's opt-outs from an earlier number, or none, to keep under the current identity. */
export function lastOptOuts(ledger: ConsentLedger, contact: LedgerContact): Omit<NewConsent, 'companyId'>[] {
  return CHANNELS.flatMap(({ channel }) => {
    const identity = consentIdentity(ledger, contact, channel)
    const entry = contactConsent(ledger, contact, channel)
    if (identity === null || entry === undefined || entry.value || entry.identity === identity) return []
    const { value, saidAt, source } = entry
    return [{ channel, identity, contactId: contact.id, value, saidAt, source, clientId: null, eventId: null }]
  })
}

export function keptOptOuts(
  ledger: ConsentLedger,
  contact: LedgerContact,
  identities: readonly string[],
): { channel: Channel; identity: string; saidAt: Date }[] {
  return CHANNELS.flatMap(({ channel }) => {
    const entry = contactConsent(ledger, contact, channel)
    if (entry === undefined || entry.value) return []
    const own = consentIdentity(ledger, contact, channel)
    const targets = channel === 'email' || identities.length === 0 ? [own] : identities
    return (
      targets
        .filter((identity) => identity !== null)
        // Already kept by an earlier erasure.
        .filter((identity) => entry.source !== ERASURE || entry.identity !== identity)
        .map((identity) => ({ channel, identity, saidAt: entry.saidAt }))
    )
  })
}
