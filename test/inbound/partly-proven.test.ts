import { createHmac, randomInt } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import { bodyOf, changeOf, inboxOf, providerOf, textFrom } from '../provider-webhook.ts'
import { eventually, startTestService, type TestService, uniquePhone } from '../service.ts'

let service: TestService
let provider: ReturnType<typeof providerOf>
beforeAll(async () => {
  service = await startTestService({ mirrors: false })
  provider = providerOf(service)
})

const newId = () => `8${randomInt(1e9, 1e10)}${randomInt(1e4, 1e5)}`
type Company = Awaited<ReturnType<TestService['createCompany']>>

const sign = (body: object, secret: string) => ({
  'x-hub-signature-256': `sha256=${createHmac('sha256', secret).update(JSON.stringify(body)).digest('hex')}`,
})
const bring = (_body: object, secret: string) => ({ 'x-webhook-secret': secret })

describe.each([
  { member: 'appSecret', headersOf: sign },
  { member: 'webhookSecret', headersOf: bring },
])('a body about numbers of different $member', ({ member, headersOf }) => {
  const secretOf = (company: Company) => `secret-of-company-${company.companyId}`

  async function createCompany(): Promise<Company> {
    const company = await service.createCompany({ sender: { wabaAccountId: newId() } })
    await setSecret(company, secretOf(company))
    return company
  }
  const setSecret = async (company: Company, secret: string | null) => {
    const path = `/companies/${company.companyId}/senders/${company.sender.channelId}`
    expect((await service.operator('PATCH', path, { [member]: secret })).status).toBe(200)
  }
  const message = (company: Company, phone: string, text = 'Hi') =>
    changeOf(company.phoneNumberId, { messages: [textFrom(phone, text)] })
  const postAs = (company: Company, body: object) => provider.post(body, headersOf(body, secretOf(company)))
  const stateOf = async (company: Company): Promise<string[]> => {
    const rows = await service.db<{ state: string }[]>`
      select state from inbound_items where phone_number_id = ${company.phoneNumberId}
    `
    return rows.map(({ state }) => state)
  }

  test.each([
    8, 12_000,
  ])('has the proven items handled and the others kept as unverified (%i bytes of text)', async (size) => {
    const [one, two, open] = [await createCompany(), await createCompany(), await createCompany()]
    await setSecret(open, null)
    const [ada, bob, cleo] = [uniquePhone(), uniquePhone(), uniquePhone()]
    const text = 'x'.repeat(size)
    const body = bodyOf(message(one, ada, text), message(two, bob, text), message(open, cleo, text))
    expect((await postAs(one, body)).status).toBe(200)
    await provider.handled()
    expect(await inboxOf(one).texts(ada)).toEqual([text])
    expect(await inboxOf(open).texts(cleo)).toEqual([text])
    expect(await inboxOf(two).list()).toEqual([])
    expect([await stateOf(one), await stateOf(two)]).toEqual([[], ['unverified']])
    const { body: listed } = await service.operator('GET', '/unroutable-events?limit=100')
    expect(listed.map((item: { phoneNumberId: string }) => item.phoneNumberId)).toContain(two.phoneNumberId)
  })

  test('is refused when it proves none of them', async () => {
    const [one, two, three] = [await createCompany(), await createCompany(), await createCompany()]
    const body = bodyOf(message(one, uniquePhone()), message(two, uniquePhone()))
    expect((await provider.post(body)).status).toBe(401)
    expect((await postAs(three, body)).status).toBe(401)
    expect([await stateOf(one), await stateOf(two)]).toEqual([[], []])
  })

  test('has a kept item handled once its secret is put right', async () => {
    const [one, two] = [await createCompany(), await createCompany()]
    const bob = uniquePhone()
    const body = bodyOf(message(one, uniquePhone()), message(two, bob))
    expect((await postAs(one, body)).status).toBe(200)
    await provider.handled()
    await setSecret(two, secretOf(one))
    await eventually(async () => (await stateOf(two)).length === 0)
    await provider.handled()
    expect(await inboxOf(two).texts(bob)).toEqual(['Hi'])
  })

  test('shows workers of the version before nothing of it', async () => {
    const [one, two] = [await createCompany(), await createCompany()]
    const body = bodyOf(message(one, uniquePhone()), message(two, uniquePhone()))
    const lanes = Array.from({ length: 256 }, (_, lane) => lane)
    // Held, so that no worker of this process takes the events.
    await service.db.begin(async (held) => {
      await held`select pg_advisory_xact_lock(advisory_key('event lane', lane::text)) from unnest(${lanes}::smallint[]) as lane`
      expect((await postAs(one, body)).status).toBe(200)
      const [counts] = await held<{ before: number; now: number }[]>`
        select
          (select count(*) from claim_events(${lanes}::smallint[], 10, 1000000)) as before,
          (select count(*) from claim_events(${lanes}::smallint[], 10, 1000000, true)) as now
      `
      expect(counts).toEqual({ before: 0, now: 2 })
    })
    await provider.handled()
  })
})
