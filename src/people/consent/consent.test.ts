import { describe, expect, test } from 'vitest'
import type { Channel } from '../contact-record.ts'
import { type ConsentEntry, type ConsentPerson, consentThatCounts, latestConsent } from './consent.ts'
import {
  type ConsentFacts,
  contactConsent,
  createConsentLedger,
  emailConsent,
  type LedgerContact,
  type LedgerCustomer,
  whatsappConsent,
} from './consent-ledger.ts'

const PHONE = '393331112222'
const OTHER_PHONE = '393339998888'
const USER_ID = 'IT.1'
const ADA = 1
const TWIN = 2

let lastId = 0
/** An entry dated `minute` minutes after the first. */
function say(value: boolean, minute: number, place: Partial<ConsentEntry> = {}): ConsentEntry {
  lastId += 1
  const saidAt = new Date(Date.UTC(2026, 0, 1, 0, minute))
  return { id: lastId, channel: 'whatsapp', identity: PHONE, contactId: null, value, saidAt, source: 'api', ...place }
}

const contact = (id: number, place: Partial<LedgerContact> = {}): LedgerContact => ({
  ...{ id, emailKey: null, phoneIdentity: null, isLiving: true, emailConsent: null, whatsappConsent: null },
  ...place,
})

const customer = (identities: LedgerCustomer['identities'], contactId = ADA): LedgerCustomer => ({
  ...{ id: 10, contactId, identities },
})
const current = (identity: string) => ({ identity, retiredAt: null })

const ledger = (facts: Partial<ConsentFacts>) =>
  createConsentLedger({ customers: [], contacts: [], entries: [], ...facts })
const ofPhone = (facts: Partial<ConsentFacts>, identity = PHONE) => whatsappConsent(ledger(facts), [identity])?.value

test('nothing counts where nothing was said', () => {
  expect(latestConsent([])).toBeUndefined()
  expect(ofPhone({})).toBeUndefined()
})

test('the entry said last counts, in whatever order entries were written', () => {
  expect(ofPhone({ entries: [say(true, 1), say(false, 2)] })).toBe(false)
  expect(ofPhone({ entries: [say(false, 2), say(true, 1)] })).toBe(false)
  expect(ofPhone({ entries: [say(true, 3), say(false, 2)] })).toBe(true)
})

test('of two entries said at the same time the one that was written last counts', () => {
  expect(ofPhone({ entries: [say(true, 1), say(false, 1)] })).toBe(false)
  expect(ofPhone({ entries: [say(false, 1), say(true, 1)] })).toBe(true)
})

test('an entry that was said before the last one changes nothing', () => {
  const entries = [say(false, 5)]
  const late = say(true, 4)
  expect(ofPhone({ entries: [...entries, late] })).toBe(false)
})

test('an entry on one channel does not count on the other', () => {
  const person: ConsentPerson = { identities: new Map([[PHONE, null]]), contactIds: new Set() }
  const entries = [say(false, 1), say(true, 2, { channel: 'email' })]
  const counts = (channel: Channel) => consentThatCounts(channel, person, entries)?.value
  expect([counts('whatsapp'), counts('email')]).toEqual([false, true])
})

describe('all identities of a person count:', () => {
  test('an opt-out under a user id counts for the number of the same customer', () => {
    const customers = [customer([current(PHONE), current(USER_ID)])]
    expect(ofPhone({ customers, entries: [say(false, 1, { identity: USER_ID })] })).toBe(false)
  })

  test('an opt-out under a retired user id counts, since it never becomes another person’s', () => {
    const customers = [customer([current(PHONE), { identity: USER_ID, retiredAt: new Date(0) }])]
    expect(ofPhone({ customers, entries: [say(false, 1, { identity: USER_ID })] })).toBe(false)
  })

  test('an opt-out under another number of the customer counts for the requested number', () => {
    const customers = [customer([current(PHONE), current(OTHER_PHONE)])]
    expect(ofPhone({ customers, entries: [say(false, 1, { identity: OTHER_PHONE })] })).toBe(false)
  })

  test('of a number that went to another person only what was said until then counts', () => {
    const retiredAt = new Date(Date.UTC(2026, 0, 1, 0, 10))
    const customers = [customer([current(PHONE), { identity: OTHER_PHONE, retiredAt }])]
    const before = say(false, 9, { identity: OTHER_PHONE })
    const after = say(true, 11, { identity: OTHER_PHONE })
    expect(ofPhone({ customers, entries: [before, after] })).toBe(false)
    expect(ofPhone({ customers, entries: [after] })).toBeUndefined()
  })

  test('an opt-out under the number of the contact counts for the user id of the customer', () => {
    const customers = [customer([current(USER_ID)])]
    const contacts = [contact(ADA, { phoneIdentity: OTHER_PHONE })]
    expect(ofPhone({ customers, contacts, entries: [say(false, 1, { identity: OTHER_PHONE })] }, USER_ID)).toBe(false)
  })
})

describe('entries through contacts of a person count:', () => {
  const contacts = [contact(ADA, { phoneIdentity: PHONE }), contact(TWIN, { phoneIdentity: PHONE })]

  test('an opt-out on one contact of a shared number holds for the number, and for the other contact', () => {
    const facts = { contacts, entries: [say(true, 1, { contactId: ADA }), say(false, 2, { contactId: TWIN })] }
    expect(ofPhone(facts)).toBe(false)
    expect(contactConsent(ledger(facts), contacts[0]!, 'whatsapp')?.value).toBe(false)
  })

  test('an opt-out under an earlier number of the contact counts for its number', () => {
    expect(ofPhone({ contacts, entries: [say(false, 1, { identity: OTHER_PHONE, contactId: ADA })] })).toBe(false)
  })

  test('an opt-in under an earlier number does not end an opt-out of the number', () => {
    const optIn = say(true, 2, { identity: OTHER_PHONE, contactId: ADA })
    expect(ofPhone({ contacts, entries: [say(false, 1), optIn] })).toBe(false)
    expect(ofPhone({ contacts, entries: [optIn] })).toBe(true)
  })

  test('an entry through a contact without identity counts for the number that it gets', () => {
    expect(ofPhone({ contacts, entries: [say(false, 1, { identity: null, contactId: ADA })] })).toBe(false)
  })

  test('an entry of a deleted contact under another number no longer counts for contacts with its number', () => {
    const deleted = contact(TWIN, { phoneIdentity: PHONE, isLiving: false })
    const entries = [say(false, 1, { identity: OTHER_PHONE, contactId: TWIN })]
    expect(ofPhone({ contacts: [contacts[0]!, deleted], entries })).toBeUndefined()
  })
})

describe('email:', () => {
  const ADDRESS = 'mailto:ada@example.com'
  const contacts = [contact(ADA, { emailKey: 'ada@example.com', phoneIdentity: PHONE })]
  const ofAddress = (entries: ConsentEntry[]) => emailConsent(ledger({ contacts, entries }), 'ada@example.com')?.value

  test('an entry under the address counts', () => {
    expect(ofAddress([say(false, 1, { channel: 'email', identity: ADDRESS })])).toBe(false)
  })

  test('an entry of its contact under no address counts', () => {
    expect(ofAddress([say(false, 1, { channel: 'email', identity: PHONE, contactId: ADA })])).toBe(false)
  })

  test('an entry of its contact about another address does not count', () => {
    const entry = say(false, 1, { channel: 'email', identity: 'mailto:old@example.com', contactId: ADA })
    expect(ofAddress([entry])).toBeUndefined()
  })

  test('an opt-in under no address does not end an opt-out of the address', () => {
    const optOut = say(false, 1, { channel: 'email', identity: ADDRESS })
    expect(ofAddress([optOut, say(true, 2, { channel: 'email', identity: PHONE, contactId: ADA })])).toBe(false)
  })

  test('a contact without an address has the consent of its number', () => {
    const phoneOnly = contact(TWIN, { phoneIdentity: PHONE })
    const entries = [say(false, 1, { channel: 'email', identity: PHONE, contactId: null })]
    expect(contactConsent(ledger({ contacts: [phoneOnly], entries }), phoneOnly, 'email')?.value).toBe(false)
  })
})
