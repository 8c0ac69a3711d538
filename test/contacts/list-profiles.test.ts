import { beforeAll, expect, test } from 'vitest'
import { eventually, startTestService, type TestService } from '../service.ts'

type Company = Awaited<ReturnType<TestService['createCompany']>>

let service: TestService

beforeAll(async () => {
  service = await startTestService({ mirrors: true })
}, 300_000)

const newCompany = () => service.createCompany({ isConnected: false })

async function importList(company: Company, list: string, query: string) {
  const taken = await company.api('POST', `/contacts/import${query}`, list, { 'content-type': 'text/csv' })
  expect([taken.status, taken.body]).toEqual([202, taken.body])
  return eventually(async () => {
    const { body } = await company.api('GET', `/contacts/imports/${taken.body.data.id}`)
    return body.data.ended_at !== null && { ...body.data, ignored: taken.body.data.ignored_columns }
  }, 300_000)
}
const contactsOf = async (company: Company) =>
  (await company.api('GET', '/contacts?sort=email&limit=100')).body.data as { id: number }[]
const historyOf = async (company: Company, id: number) =>
  (await company.api('GET', `/contacts/${id}/consent`)).body.data.map(
    ({ channel, value, at, ip, source }: Record<string, unknown>) => ({ channel, value, at, ip, source }),
  )

const MAILCHIMP =
  'Email Address,First Name,Last Name,Phone Number,MEMBER_RATING,OPTIN_TIME,OPTIN_IP,CONFIRM_TIME,CONFIRM_IP,LATITUDE,LONGITUDE,GMTOFF,DSTOFF,TIMEZONE,CC,REGION,LAST_CHANGED,LEID,EUID,NOTES,TAGS'

test('Mailchimp: subscribed members with time and address, unsubscribed ones, cleaned ones', async () => {
  const company = await newCompany()
  const subscribed = `${MAILCHIMP}\nada@example.com,Ada,Rossi,+393331234567,2,2021-05-01 10:00:00,203.0.113.7,2021-05-01 10:05:00,203.0.113.8,,,,,,,,2021-05-01 10:05:00,1,a,,"""vip"",""new customer"""\nbob@example.com,Bob,,,2,,,,,,,,,,,,2021-05-01 10:05:00,2,b,,\n`
  const done = await importList(company, subscribed, '?profile=mailchimp')
  expect(done).toMatchObject({ profile: 'mailchimp', created: 2, refused: 0 })
  expect(done.ignored).toContain('MEMBER_RATING')
  const [ada, bob] = await contactsOf(company)
  expect(ada).toMatchObject({
    first_name: 'Ada',
    last_name: 'Rossi',
    phone: '+393331234567',
    tags: ['vip', 'new customer'],
    marketing_consent: { email: true, whatsapp: null },
  })
  // Who never confirmed has said nothing.
  expect(bob).toMatchObject({ marketing_consent: { email: null, whatsapp: null } })
  expect(await historyOf(company, ada!.id)).toEqual([
    { channel: 'email', value: true, at: '2021-05-01T10:05:00.000Z', ip: '203.0.113.8', source: 'import' },
  ])
  // The same list once more says nothing new.
  expect(await importList(company, subscribed, '?profile=mailchimp')).toMatchObject({ unchanged: 2 })
  expect(await historyOf(company, ada!.id)).toHaveLength(1)

  const unsubscribed = `${MAILCHIMP},UNSUB_TIME,UNSUB_CAMPAIGN_TITLE,UNSUB_CAMPAIGN_ID,UNSUB_REASON,UNSUB_REASON_OTHER\nada@example.com,Ada,Rossi,,2,,,2021-05-01 10:05:00,203.0.113.8,,,,,,,,2022-01-01 08:00:00,1,a,,,2022-01-01 08:00:00,News,x,,\n`
  await importList(company, unsubscribed, '?profile=mailchimp')
  expect((await contactsOf(company))[0]).toMatchObject({ marketing_consent: { email: false } })
  // An opt-in from before does not end the opt-out, however late its list comes.
  await importList(company, subscribed, '?profile=mailchimp')
  expect((await contactsOf(company))[0]).toMatchObject({ marketing_consent: { email: false } })
  expect(await historyOf(company, ada!.id)).toEqual([
    { channel: 'email', value: false, at: '2022-01-01T08:00:00.000Z', ip: null, source: 'import' },
    { channel: 'email', value: true, at: '2021-05-01T10:05:00.000Z', ip: '203.0.113.8', source: 'import' },
  ])

  const cleaned = `${MAILCHIMP},CLEAN_TIME,CLEAN_CAMPAIGN_TITLE,CLEAN_CAMPAIGN_ID\ncleo@example.com,Cleo,,,2,,,2021-05-01 10:05:00,203.0.113.8,,,,,,,,2022-01-01 08:00:00,1,c,,,2022-01-01 08:00:00,News,x\n`
  await importList(company, cleaned, '?profile=mailchimp')
  expect((await contactsOf(company)).at(-1)).toMatchObject({ marketing_consent: { email: null } })
})

test('HubSpot: an opt-out of all mail or of marketing counts, and no consent is made up', async () => {
  const company = await newCompany()
  const list =
    'Record ID,First Name,Last Name,Email,Phone Number,Status,Unsubscribed from all email,Opted out of email: Marketing Information\n' +
    '101,Ada,Rossi,ada@example.com,+39 333 1234567,Lead,false,false\n102,Bob,,bob@example.com,,Lead,true,\n103,Cleo,,cleo@example.com,,Lead,,true\n'
  expect(await importList(company, list, '?profile=hubspot')).toMatchObject({
    created: 3,
    ignored: ['Record ID', 'Status'],
  })
  expect(await contactsOf(company)).toMatchObject([
    { phone: '+393331234567', status: 'active', marketing_consent: { email: null } },
    { marketing_consent: { email: false } },
    { marketing_consent: { email: false } },
  ])
})

test('Klaviyo: consent with its time', async () => {
  const company = await newCompany()
  const list =
    '\uFEFFEmail,Klaviyo ID,First Name,Last Name,Phone Number,Source,IP Address,Email Marketing Consent,Email Marketing Consent Timestamp\n' +
    'ada@example.com,01A,Ada,Rossi,+393331234567,shop,203.0.113.9,SUBSCRIBED,2024-03-01 12:00:00+00:00\nbob@example.com,01B,Bob,,,shop,,UNSUBSCRIBED,2024-03-02T12:00:00Z\ncleo@example.com,01C,Cleo,,,shop,,NEVER_SUBSCRIBED,\n'
  expect(await importList(company, list, '?profile=klaviyo')).toMatchObject({ created: 3 })
  const contacts = await contactsOf(company)
  expect(contacts).toMatchObject([
    { source: 'API', marketing_consent: { email: true } },
    { marketing_consent: { email: false } },
    { marketing_consent: { email: null } },
  ])
  expect(await historyOf(company, contacts[0]!.id)).toMatchObject([{ at: '2024-03-01T12:00:00.000Z', ip: null }])
  expect(await historyOf(company, contacts[1]!.id)).toMatchObject([{ at: '2024-03-02T12:00:00.000Z' }])
})

test('Brevo: semicolons, double opt-in, blocklisted addresses', async () => {
  const company = await newCompany()
  const list =
    'CONTACT ID;EMAIL;FIRSTNAME;LASTNAME;SMS;WHATSAPP;DOUBLE_OPT-IN;OPT_IN;EMAIL_BLACKLISTED;ADDED_TIME;MODIFIED_TIME\n' +
    '1;ada@example.com;Ada;Rossi;393331234567;393331234567;Yes;;false;01-12-2023 10:00:00;01-12-2023 10:00:00\n' +
    '2;bob@example.com;Bob;;;;2;1;;01-12-2023 10:00:00;01-12-2023 10:00:00\n' +
    '3;cleo@example.com;Cleo;;;;1;;true;01-12-2023 10:00:00;01-12-2023 10:00:00\n' +
    '4;dora@example.com;Dora;;;;;No;;01-12-2023 10:00:00;01-12-2023 10:00:00\n'
  const done = await importList(company, list, '?profile=brevo')
  expect(done).toMatchObject({ profile: 'brevo', delimiter: ';', created: 4, refused: 0 })
  expect(await contactsOf(company)).toMatchObject([
    { first_name: 'Ada', phone: '+393331234567', marketing_consent: { email: true } },
    { marketing_consent: { email: true } },
    { marketing_consent: { email: false } },
    { marketing_consent: { email: null } },
  ])
})

test('columns of consent, time and address can be named without a profile; what is none is refused', async () => {
  const company = await newCompany()
  const list =
    'phone,marketing_consent.whatsapp,marketing_consent.whatsapp_at,marketing_consent.whatsapp_ip\n' +
    '+393331234501,yes,2024-02-29 08:00:00,2001:db8::1\n+393331234502,no,2024-02-30 08:00:00,\n+393331234503,yes,yesterday,\n+393331234504,yes,,203.0.113.999\n+393331234505,,2024-01-01,\n+393331234506,yes,2999-01-01,\n'
  const done = await importList(company, list, '')
  expect(done).toMatchObject({ created: 3, refused: 3, ignored: [] })
  expect(done.refusals).toEqual([
    {
      line: 3,
      reason:
        'marketing_consent.whatsapp_at must be a time such as 2026-03-01 08:00:00, in UTC unless it has an offset',
    },
    { line: 4, reason: expect.stringContaining('marketing_consent.whatsapp_at must be a time') },
    { line: 5, reason: 'marketing_consent.whatsapp_ip must be an IP address' },
  ])
  const rows = await service.db<{ value: boolean; saidAt: Date; ip: string | null }[]>`
    select value, said_at, ip from consents where company_id = ${company.companyId} order by said_at
  `
  expect(rows).toMatchObject([
    { value: true, saidAt: new Date('2024-02-29T08:00:00Z'), ip: '2001:db8::1' },
    { value: true, ip: null },
  ])
  expect(rows[1]!.saidAt.getTime()).toBeLessThanOrEqual(Date.now() + 60_000)
})

test('rows about one person count by their times, in whatever order they come', async () => {
  const company = await newCompany()
  const row = (value: string, day: number) => `ada@example.com,${value},2024-01-0${day}`
  const list = ['email,marketing_consent.email,marketing_consent.email_at', row('no', 5), row('yes', 3), row('yes', 4)]
  await importList(company, `${list.join('\n')}\n`, '')
  const [ada] = await contactsOf(company)
  expect(ada).toMatchObject({ marketing_consent: { email: false } })
  await importList(company, `${[list[0], row('yes', 6), row('no', 2)].join('\n')}\n`, '')
  expect((await contactsOf(company))[0]).toMatchObject({ marketing_consent: { email: true } })
  // A row without a time is said now.
  await importList(company, 'email,marketing_consent.email\nada@example.com,no\n', '')
  expect((await contactsOf(company))[0]).toMatchObject({ marketing_consent: { email: false } })
})
