import { beforeAll, expect, test } from 'vitest'
import { bodyOf, changeOf, providerOf, textFrom } from '../provider-webhook.ts'
import { startTestService, type TestService } from '../service.ts'

let service: TestService
let provider: ReturnType<typeof providerOf>
beforeAll(async () => {
  service = await startTestService({ mirrors: true })
  provider = providerOf(service)
})

test('items for unknown numbers are kept in few rows, and refused after 10,000 items of a client in an hour', {
  timeout: 300_000,
}, async () => {
  const items = Array.from({ length: 4_000 }, () => textFrom('393331', 'x'))
  const body = JSON.stringify(bodyOf(changeOf('990000000000001', { messages: items })))
  for (let n = 0; n < 3; n += 1) await provider.report(body)
  const [stored] = await service.db`
    select count(*)::int as rows, sum(octet_length(body))::float8 / ${body.length} as bodies
    from inbound_items where phone_number_id = '990000000000001'
  `
  expect(stored!.rows).toBeLessThan(items.length * 3 * 0.1)
  expect(stored!.bodies).toBeGreaterThanOrEqual(2.5)
  expect(stored!.bodies).toBeLessThan(4)

  const [counted] = await service.db`select items, bytes from unhandled_counts`
  expect(counted!.items).toBe(12_000)
  expect(counted!.bytes / body.length).toBeCloseTo(3, 0)

  await expect.poll(async () => (await provider.post(body)).status).toBe(429)
  const refused = await provider.post(body)
  expect(refused.body).toMatchObject({ error: { code: 'rate_limit_exceeded', retry_after: expect.any(Number) } })
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(3_000)

  await service.db`update unhandled_counts set window_ends_at = now()`
  await expect.poll(async () => (await provider.post(body)).status).toBe(200)
  await provider.handled()
  const owner = await service.createCompany({ sender: { phoneNumberId: '990000000000001' } })
  await provider.handled()
  const [taken] = await service.db`
    select count(*)::int as messages from messages where company_id = ${owner.companyId} and direction = 'inbound'
  `
  expect(taken!.messages).toBe(4_000)
})
