import { describe, expect, test } from 'vitest'
import { createTestDatabase } from '../../test/database.ts'
import { createTwins } from '../../test/twins.ts'
import { readContactCount } from '../contacts/search/contact-list.ts'
import { showEarlierConsents } from './consent/shown-consent.ts'
import { insertCustomerContacts, releasePhones, setContactPhones } from './contact-store.ts'

const { db } = await createTestDatabase({ mirrors: true })
const OLD = '39333'
const NEW = '39444'
const USER = 'IT.1'

describe('releasePhones', () => {
  test('takes the number and its line of the searchable text from every contact that has it', async () => {
    const { companyId, change } = await createTwins(db, {
      contacts: [
        [1, OLD, `ada\n${OLD}`],
        [2, NEW, NEW],
        [3, OLD, OLD],
      ],
    })
    let released: unknown
    const after = await change(async (id) => {
      released = await releasePhones(db, [{ companyId: id, identity: OLD }])
    })
    expect(after.contacts).toEqual([
      [1, null, 'ada'],
      [2, NEW, NEW],
      [3, null, ''],
    ])
    expect(released).toEqual(
      expect.arrayContaining([
        { companyId, contactId: 1 },
        { companyId, contactId: 3 },
      ]),
    )
  })
})

describe('setContactPhones', () => {
  test('gives a contact a number instead of its own, which is searched for', async () => {
    const { change } = await createTwins(db, {
      contacts: [
        [1, OLD, `ada\n${OLD}`],
        [2, null, ''],
      ],
    })
    const after = await change((companyId) =>
      setContactPhones(db, [
        { companyId, contactId: 1, phone: NEW },
        { companyId, contactId: 2, phone: '5215512345678' },
      ]),
    )
    expect(after.contacts).toEqual([
      [1, NEW, `ada\n${NEW}`],
      [2, '525512345678', '5215512345678'],
    ])
  })
})

describe('insertCustomerContacts', () => {
  const insert = (companyId: number, identity: string, place: { phone?: string } = {}) =>
    insertCustomerContacts(db, [
      { companyId, id: 500, identity, phone: null, source: 'WhatsApp', sourceType: 'service', ...place },
    ])
  const inserted = async (companyId: number) => {
    const [row] = await db`
      select phone, phone_identity, first_name, search_text
      from contacts
      where (company_id, id) = (${companyId}, 500)
    `
    return row
  }
  test('counts the contact, and makes its number and the id of its group searchable', async () => {
    const { companyId, twinId } = await createTwins(db)
    await insert(companyId, OLD, { phone: OLD })
    await insert(twinId, '#Group-7')
    expect(await inserted(companyId)).toMatchObject({ phone: OLD, phoneIdentity: OLD, searchText: OLD })
    expect(await inserted(twinId)).toMatchObject({ phone: null, firstName: 'Group-7', searchText: 'group-7' })
    expect(await readContactCount(db, companyId)).toBe(1)
  })
})

describe('showEarlierConsents', () => {
  const say = (companyId: number, identity: string, value: boolean, saidAt: string) => db`
    insert into consents (company_id, channel, identity, value, said_at, source)
    values (${companyId}, 'whatsapp', ${identity}, ${value}, ${saidAt}, 'test')
  `
  const shown = async (companyId: number) => {
    await showEarlierConsents(db, [{ companyId, id: 1 }])
    const [row] = await db`select whatsapp_consent from contacts where (company_id, id) = (${companyId}, 1)`
    return row?.whatsappConsent
  }
  /** A contact whose customer has a number, a user id and a number retired today. */
  const createCustomers = () =>
    createTwins(db, {
      contacts: [[1, OLD, OLD]],
      customers: [[10, 1, OLD]],
      identities: [
        [OLD, 10],
        [USER, 10],
        [NEW, 10, true],
      ],
    })

  test('shows nothing when nothing was said', async () => {
    const { companyId } = await createCustomers()
    expect(await shown(companyId)).toBeNull()
  })

  test('shows what was said last under the identities, of its company alone', async () => {
    const { companyId, twinId } = await createCustomers()
    await say(companyId, OLD, true, '2026-01-01')
    await say(companyId, USER, false, '2026-01-02')
    await say(twinId, OLD, true, '2026-01-03')
    expect([await shown(companyId), await shown(twinId)]).toEqual([false, true])
  })

  test('shows what was said under a retired number until it was retired', async () => {
    const { companyId, twinId } = await createCustomers()
    await say(companyId, USER, false, '2026-01-01')
    await say(companyId, NEW, true, '2026-01-05')
    await say(twinId, USER, false, '2026-01-01')
    await say(twinId, NEW, true, '2026-01-01T12:00:00Z')
    expect([await shown(companyId), await shown(twinId)]).toEqual([false, true])
  })

  test('shows the opt-out that another contact with the number said under an earlier number', async () => {
    const { companyId, twinId } = await createTwins(db, {
      contacts: [
        [1, OLD, OLD],
        [2, OLD, OLD],
      ],
      customers: [[10, 1, OLD]],
      identities: [[OLD, 10]],
    })
    await db`
      insert into consents (company_id, channel, identity, contact_id, value, said_at, source)
      values (${companyId}, 'whatsapp', '39555', 2, false, '2026-01-01', 'test')
    `
    expect([await shown(companyId), await shown(twinId)]).toEqual([false, null])
  })

  test('shows the opt-out of a person who was erased', async () => {
    const { companyId } = await createCustomers()
    await db`
      insert into consents (company_id, channel, identity, value, said_at, source)
      values (${companyId}, 'whatsapp', keyed_hash(${companyId}, ${OLD}), false, '2026-01-01', 'test')
    `
    expect(await shown(companyId)).toBe(false)
  })
})
