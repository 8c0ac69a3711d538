import { afterEach, expect, test } from 'vitest'
import { type Sandbox, type SandboxOptions, startSandbox } from '../sandbox.ts'
import { call, send, textTo } from '../test/client.ts'
import { type Receiver, startReceiver } from '../test/receiver.ts'

let receiver: Receiver
let sandbox: Sandbox
afterEach(async () => {
  await sandbox.stop()
  receiver.stop()
})

async function start(options: SandboxOptions = {}): Promise<void> {
  receiver = await startReceiver()
  sandbox = await startSandbox({ webhookUrl: receiver.url, statusDelayMs: 20, ...options })
}

type Seen = { id: string; status: string; biz_opaque_callback_data?: string }
const statuses = (): Seen[] => receiver.events.flatMap(({ json }) => json.entry[0].changes[0].value.statuses)

async function untilStatuses(count: number): Promise<void> {
  while (statuses().length < count) await receiver.until(receiver.events.length + 1)
}

test('sent and then delivered follow each message when there is a webhook', async () => {
  await start()
  const { body } = await send(sandbox, textTo('393331234567', { biz_opaque_callback_data: '42' }))
  await untilStatuses(2)
  const id = body.messages[0].id
  expect(statuses()).toMatchObject([
    { id, status: 'sent', biz_opaque_callback_data: '42' },
    { id, status: 'delivered', biz_opaque_callback_data: '42' },
  ])
})

test('many statuses share a body, each message keeping its order', async () => {
  await start()
  await Promise.all(
    Array.from({ length: 300 }, (_, n) => send(sandbox, textTo(`3933312${String(n).padStart(5, '0')}`))),
  )
  await untilStatuses(600)
  expect(receiver.events.length).toBeLessThan(300)
  const seen = Map.groupBy(statuses(), ({ id }) => id)
  expect(seen.size).toBe(300)
  for (const its of seen.values()) expect(its.map(({ status }) => status)).toEqual(['sent', 'delivered'])
})

test('tries again while the service does not take them', async () => {
  await start()
  receiver.answerWith = 503
  await send(sandbox, textTo('393331234567'))
  await receiver.until(1)
  receiver.answerWith = 200
  const answered = (code: number) =>
    receiver.events.flatMap(({ json, answeredWith }) =>
      answeredWith === code ? json.entry[0].changes[0].value.statuses.map(({ status }: Seen) => status) : [],
    )
  await expect.poll(() => answered(200)).toEqual(['sent', 'delivered'])
  expect(answered(503)[0]).toBe('sent')
})

test('none follow while autoStatus is off', async () => {
  await start({ autoStatus: false })
  await send(sandbox, textTo('393331111111'))
  await call(sandbox, 'PUT', '/sandbox/behaviour', { autoStatus: true })
  await send(sandbox, textTo('393332222222'))
  await untilStatuses(2)
  expect(new Set(statuses().map(({ id }) => id)).size).toBe(1)
})
