import { Session } from 'node:inspector/promises'
import { expect, onTestFinished, test } from 'vitest'
import { eventually, startTestService, uniquePhone } from '../service.ts'

const SENDS = 50

/** How many calls of functions of each source file there were while the work ran. */
async function countCalls(work: () => Promise<void>): Promise<(file: string) => number> {
  const session = new Session()
  session.connect()
  onTestFinished(() => session.disconnect())
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  await work()
  const { result } = await session.post('Profiler.takePreciseCoverage')
  return (file) =>
    result
      .filter(({ url }) => url.endsWith(file))
      .flatMap(({ functions }) => functions)
      .reduce((sum, { ranges }) => sum + (ranges[0]?.count ?? 0), 0)
}

test('without OTEL_EXPORTER_OTLP_ENDPOINT a send, an event and its handling call no function of the traces', async () => {
  const service = await startTestService()
  const company = await service.createCompany()
  const parameters = ['Ada', 'A-10423'].map((text) => ({ type: 'text', text }))
  const template = { name: 'order_update', languageCode: 'en_US', components: [{ type: 'BODY', parameters }] }
  const body = { type: 'template', template }
  const callsIn = await countCalls(async () => {
    for (let n = 0; n < SENDS; n += 1) {
      const { status } = await company.api('POST', '/templates/whatsapp/send', { ...body, recipient: uniquePhone() })
      expect(status).toBe(200)
    }
    const from = uniquePhone()
    const { phoneNumberId } = company
    await service.control('POST', '/inbound', { phoneNumberId, from, type: 'text', text: { body: 'Hi' } })
    await eventually(async () => (await service.db`select 1 from messages where direction = 'inbound'`).length > 0)
  })
  expect(callsIn('/src/sends/send.ts')).toBeGreaterThanOrEqual(SENDS)
  expect(callsIn('/src/inbound/handling/inbound-worker.ts')).toBeGreaterThan(0)
  expect([callsIn('/src/platform/telemetry/tracing.ts'), callsIn('/src/http/server/trace-requests.ts')]).toEqual([0, 0])
})
