import { describe, expect, test } from 'vitest'
import { createTestDatabase } from '../../../test/database.ts'
import { untilBlocked } from '../../../test/held-locks.ts'
import { createTwins } from '../../../test/twins.ts'
import { createCompany } from '../../../test/world.ts'
import { appendConsents, type NewConsent } from './consent-store.ts'
import { recordPreferences } from './preference.ts'
import { hasRefusedEmail, latestConsents, refreshConsents } from './shown-consent.ts'

const { db } = await createTestDatabase({ mirrors: true })

const PHONE = '39333'
const RETIRED = '39444'
const USER = 'IT.1'
const at = (day: number) => new Date(Date.UTC(2026, 0, day))

const entry = (companyId: number, value: boolean, place: Partial<NewConsent> = {}): NewConsent => ({
  ...{ companyId, channel: 'whatsapp', identity: PHONE, contactId: null, value, saidAt: null, source: 'test' },
  ...{ clientId: null, eventId: null },
  ...place,
})
const ofPhone = async (companyId: number, identity = PHONE) =>
  (await latestConsents(db, 'whatsapp', [{ companyId, identity }]))[0]

async function createContact(companyId: number, place: { phone?: string; email?: string }): Promise<number> {
  const { phone = null, email = null } = place
  const [row] = await db<{ id: number }[]>`
    insert into contacts (company_id, email, email_key, phone, phone_identity, source, source_type)
    values (${companyId}, ${email}, ${email}, ${phone}, ${phone}, 'test', 'test')
    returning id
  `
  return row!.id
}

async function shownBy(companyId: number, id: number): Promise<unknown> {
  const [row] = await db`
    select email_consent as email, whatsapp_consent as whatsapp from contacts where (company_id, id) = (${companyId}, ${id})
  `
  return row
}

describe('the ledger', () => {
  test('answers for many persons of several companies at once, in their order', async () => {
    const [one, other] = [await createCompany(db), await createCompany(db)]
    await appendConsents(db, [entry(one, false), entry(other, true), entry(one, true, { identity: RETIRED })])
    const keys = [
      { companyId: other, identity: PHONE },
      { companyId: one, identity: 'IT.9' },
      { companyId: one, identity: PHONE },
      { companyId: one, identity: RETIRED },
    ]
    expect(await latestConsents(db, 'whatsapp', keys)).toEqual([true, null, false, true])
  })

  test('takes no entry of an event that it has', async () => {
    const companyId = await createCompany(db)
    const resume = entry(companyId, true, { eventId: 'resume 1' })
    await appendConsents(db, [resume, entry(companyId, false), resume])
    await appendConsents(db, [resume])
    expect(await db`select from consents where company_id = ${companyId}`).toHaveLength(2)
    expect(await ofPhone(companyId)).toBe(false)
  })

  test('an entry is never said later than now', async () => {
    const companyId = await createCompany(db)
    await appendConsents(db, [entry(companyId, true, { saidAt: new Date('2999-01-01') })])
    await appendConsents(db, [entry(companyId, false)])
    expect(await ofPhone(companyId)).toBe(false)
  })

  test('an entry that is said again keeps the time at which it was said first', async () => {
    const companyId = await createCompany(db)
    const contactId = await createContact(companyId, { phone: PHONE })
    await appendConsents(db, [entry(companyId, false, { contactId, saidAt: at(1) })])
    const sayAgain = async () => {
      const [row] = await db<{ id: number }[]>`select id from consents where company_id = ${companyId}`
      await appendConsents(db, [entry(companyId, false, { contactId, clientId: 'key', repeats: row!.id })])
    }
    await sayAgain()
    await sayAgain()
    const [oldest, ...rest] = await db<{ saidAt: Date }[]>`
      select value, client_id, said_at, first_said_at
      from consents
      where (company_id, contact_id) = (${companyId}, ${contactId})
      order by id
    `
    expect(oldest).toMatchObject({ value: false, firstSaidAt: at(1), clientId: 'key' })
    expect(oldest!.saidAt.getTime()).toBeGreaterThan(at(2).getTime())
    expect(rest).toEqual([])
  })

  test('reads all identities of a customer, and of a retired number what was said until then', async () => {
    const { companyId, twinId } = await createTwins(db, {
      contacts: [[1, null, '']],
      customers: [[10, 1, PHONE]],
      identities: [
        [PHONE, 10],
        [USER, 10],
        [RETIRED, 10, true],
      ],
    })
    // Numbers of twins are retired on 2 January.
    await appendConsents(db, [
      entry(companyId, false, { identity: RETIRED, saidAt: new Date('2026-01-01T12:00:00Z') }),
      entry(companyId, true, { identity: RETIRED, saidAt: at(5) }),
      entry(twinId, false, { identity: USER, saidAt: at(5) }),
    ])
    expect([await ofPhone(companyId), await ofPhone(twinId)]).toEqual([false, false])
    expect(await ofPhone(companyId, RETIRED)).toBe(true)
  })

  test('finds what an erased person said by the keyed hash of the identity', async () => {
    const companyId = await createCompany(db)
    await db`
      insert into consents (company_id, channel, identity, value, said_at, source)
      values (${companyId}, 'email', keyed_hash(${companyId}, 'mailto:ada@example.com'), false, now(), 'test')
    `
    expect(await hasRefusedEmail(db, companyId, 'Ada@example.com')).toBe(true)
  })
})

test.each([true, false])('an address refuses marketing when its contact says %s', async (value) => {
  const companyId = await createCompany(db)
  const contactId = await createContact(companyId, { email: 'ada@example.com' })
  await appendConsents(db, [entry(companyId, value, { channel: 'email', identity: null, contactId })])
  expect(await hasRefusedEmail(db, companyId, 'ada@example.com')).toBe(!value)
})

describe('refreshConsents', () => {
  test('changes all contacts with the number, and none that is deleted or of another company', async () => {
    const { companyId, twinId } = await createTwins(db, {
      contacts: [
        [1, PHONE, PHONE],
        [2, PHONE, PHONE],
        [3, PHONE, PHONE],
      ],
    })
    await db`update contacts set deleted_at = now() where company_id = ${companyId} and id = 3`
    await appendConsents(db, [entry(companyId, false, { contactId: 2 })])
    const changed = await refreshConsents(db, [{ companyId, identity: PHONE }])
    expect(changed.map(({ contactId }) => contactId).sort()).toEqual([1, 2])
    const rows = await db`
      select id from contacts where company_id in (${companyId}, ${twinId}) and whatsapp_consent = false order by id
    `
    expect(rows.map(({ id }) => id)).toEqual([1, 2])
    expect(await refreshConsents(db, [{ companyId, identity: PHONE }])).toEqual([])
  })

  test('reads what another transaction added while it waited for the contact', async () => {
    const companyId = await createCompany(db)
    const contactId = await createContact(companyId, { phone: PHONE })
    let refreshed: Promise<unknown> = Promise.resolve()
    await db.begin(async (tx) => {
      await tx`select from contacts where (company_id, id) = (${companyId}, ${contactId}) for no key update`
      refreshed = db.begin((later) => refreshConsents(later, [{ companyId, contactId }]))
      await untilBlocked(db)
      await appendConsents(tx, [entry(companyId, false, { contactId })])
    })
    await refreshed
    expect(await shownBy(companyId, contactId)).toEqual({ email: null, whatsapp: false })
  })
})

describe('preferences of customers', () => {
  const preference = (companyId: number, value: boolean, day: number, identities = [PHONE]) => ({
    ...{ companyId, identities, value, saidAt: at(day), eventId: `${value} ${day}`, arrivedAt: new Date() },
  })

  test('are recorded under all identities, and for the contact of the company alone', async () => {
    const [companyId, other] = [await createCompany(db), await createCompany(db)]
    const [id, otherId] = [
      await createContact(companyId, { phone: PHONE }),
      await createContact(other, { phone: PHONE }),
    ]
    const changed = await recordPreferences(db, [preference(companyId, false, 1, [PHONE, USER])])
    expect(changed).toEqual([{ companyId, id }])
    expect(await shownBy(companyId, id)).toEqual({ email: null, whatsapp: false })
    expect(await shownBy(other, otherId)).toEqual({ email: null, whatsapp: null })
    expect([await ofPhone(companyId, USER), await ofPhone(other)]).toEqual([false, null])
  })

  test('a repeated resume changes nothing, and neither does one that was said before the last entry', async () => {
    const companyId = await createCompany(db)
    const id = await createContact(companyId, { phone: PHONE })
    await recordPreferences(db, [preference(companyId, true, 3)])
    await appendConsents(db, [entry(companyId, false, { contactId: id, saidAt: at(4) })])
    await recordPreferences(db, [preference(companyId, true, 3), preference(companyId, true, 2)])
    expect(await shownBy(companyId, id)).toEqual({ email: null, whatsapp: false })
    await recordPreferences(db, [preference(companyId, true, 5)])
    expect(await shownBy(companyId, id)).toEqual({ email: null, whatsapp: true })
  })

  test('stay with the contact when it gets another number', async () => {
    const companyId = await createCompany(db)
    const id = await createContact(companyId, { phone: PHONE })
    await recordPreferences(db, [preference(companyId, false, 1)])
    await db`update contacts set phone = '39555', phone_identity = '39555' where (company_id, id) = (${companyId}, ${id})`
    expect(await ofPhone(companyId, '39555')).toBe(false)
  })
})
