import { createHmac } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { bodyOf, changeOf, textFrom } from '../provider-webhook.ts'
import { uniquePhone } from '../service.ts'
import { startInbound } from './inbound-world.ts'

// Accepted bodies are counted by the ids of stored events.
const { service, company, provider } = await startInbound({ mirrors: true, storesEvents: true })

const eventCount = async () => {
  const [row] = await service.db<
    { next: number }[]
  >`select case when is_called then last_value else 0 end as next from inbound_events_id_seq`
  return row!.next
}

describe('signatures', () => {
  const sign = (body: string, secret: string) => ({
    'x-hub-signature-256': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`,
  })
  const textBody = (...numbers: string[]) => {
    const from = uniquePhone()
    return JSON.stringify(
      bodyOf(...numbers.map((number) => changeOf(number, { messages: [textFrom(from, 'Caffè 👍 a/b')] }))),
    )
  }
  const statusOf = async (body: string, headers: Record<string, string> = {}) => {
    const before = await eventCount()
    const { status } = await provider.post(body, headers)
    expect((await eventCount()) > before).toBe(status === 200)
    await provider.handled()
    return status
  }
  const signed = (appSecret: string) => service.createCompany({ sender: { appSecret } })
  const setSecret = async ({ companyId, sender }: Awaited<ReturnType<typeof signed>>, appSecret: string | null) => {
    const path = `/companies/${companyId}/senders/${sender.channelId}`
    expect((await service.operator('PATCH', path, { appSecret })).status).toBe(200)
  }

  test('from the first secret on nothing unsigned is taken', async () => {
    const created = await service.createCompany()
    const bodies = Array.from({ length: 21 }, () => textBody(created.phoneNumberId))
    expect(await statusOf(bodies.pop()!)).toBe(200)
    await setSecret(created, 'the-first-one')
    const answers = await Promise.all(bodies.map((body) => provider.post(body)))
    expect(answers.map(({ status }) => status)).toEqual(bodies.map(() => 401))
    const later = textBody(created.phoneNumberId)
    expect(await statusOf(later, sign(later, 'the-first-one'))).toBe(200)
  })

  test.each([
    ['a body', ''],
    ['a body above 64 KiB, which a thread reads', 'x'.repeat(100_000)],
  ])('of %s: right is stored, missing or wrong is answered 401 and not stored', async (_what, padding) => {
    const { phoneNumberId } = await signed('secret-one')
    const body = textBody(phoneNumberId).replace('{', `{"padding":"${padding}",`)
    const refused = await provider.post(body)
    expect([refused.status, refused.body.error.code]).toEqual([401, 'unauthorized'])
    expect(await statusOf(body)).toBe(401)
    expect(await statusOf(body, sign(body, 'another'))).toBe(401)
    expect(await statusOf(body, sign(`${body} `, 'secret-one'))).toBe(401)
    expect(await statusOf(body, { 'x-hub-signature-256': 'sha256=00' })).toBe(401)
    expect(await statusOf(body, sign(body, 'secret-one'))).toBe(200)
  })

  test('a number without a secret needs none', async () => {
    await signed('secret-two')
    expect(await statusOf(textBody(company.phoneNumberId))).toBe(200)
  })

  test('a body about several numbers is signed for one of those that carry a secret', async () => {
    const one = await signed('shared')
    const two = await signed('shared')
    const other = await signed('not-shared')
    const both = textBody(company.phoneNumberId, one.phoneNumberId, two.phoneNumberId)
    expect(await statusOf(both)).toBe(401)
    expect(await statusOf(both, sign(both, 'shared'))).toBe(200)
    const mixed = textBody(one.phoneNumberId, other.phoneNumberId)
    expect(await statusOf(mixed, sign(mixed, 'of-neither'))).toBe(401)
    // Each item proves its own number: partly-proven.test.ts.
    expect(await statusOf(mixed, sign(mixed, 'shared'))).toBe(200)
  })

  test('a changed secret counts from the answer on, in the address of the number in any spelling', async () => {
    const created = await signed('before')
    const { phoneNumberId } = created
    const body = textBody(phoneNumberId).replace(phoneNumberId, `\\u003${phoneNumberId[0]}${phoneNumberId.slice(1)}`)
    expect(await statusOf(body, sign(body, 'before'))).toBe(200)
    await setSecret(created, 'after')
    expect(await statusOf(body, sign(body, 'before'))).toBe(401)
    expect(await statusOf(body, sign(body, 'after'))).toBe(200)
    await setSecret(created, null)
    expect(await statusOf(body)).toBe(200)
  })

  test('an account event is signed when a number of the account carries a secret', async () => {
    await signed('of-the-account')
    const [{ wabaAccountId }] = (await service.db`
      select waba_account_id from senders where app_secret is not null limit 1
    `) as unknown as [{ wabaAccountId: string }]
    const event = { event: 'APPROVED', message_template_id: 1, message_template_name: 'none' }
    const body = JSON.stringify({
      entry: [{ id: wabaAccountId, changes: [{ field: 'message_template_status_update', value: event }] }],
    })
    expect(await statusOf(body)).toBe(401)
  })
})
