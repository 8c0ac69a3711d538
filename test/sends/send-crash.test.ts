import { expect, test } from 'vitest'
import { eventually } from '../service.ts'
import { startKilledSender } from './killed-sender.ts'

test('a process that is killed while the provider is asked: the message stays, becomes unknown, and is never sent again', async () => {
  const { db, first, start, received, ...sender } = await startKilledSender()
  const request = { recipient: '393300000000', type: 'template', template: { name: 'shipping_notice' } }
  const send = (address: string) => sender.send(address, request, { 'idempotency-key': 'order-1' })

  const lost = send(first.address).catch(() => 'no answer')
  await eventually(async () => (await received()).length > 0)
  await first.signal('SIGKILL')
  expect(await lost).toBe('no answer')

  const [lease] = await db`select lease_until <= now() + interval '15 seconds' as is_short from idempotency_keys`
  expect(lease).toEqual({ isShort: true })
  // The lease must not end before the next process asks.
  await db`update idempotency_keys set lease_until = now() + interval '1 hour'`
  const second = await start()
  const tooEarly = await send(second.address)
  expect([tooEarly.status, tooEarly.body.error.code]).toEqual([409, 'idempotency_key_in_use'])
  await db`update idempotency_keys set lease_until = now()`
  const answer = await eventually(async () => {
    const reply = await send(second.address)
    return reply.status === 409 ? undefined : reply
  })
  expect([answer.status, answer.body.error.code]).toEqual([503, 'send_outcome_unknown'])
  const again = await send(second.address)
  expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([503, 'true'])
  expect(await received()).toHaveLength(1)

  await db`update messages set created_at = now() - interval '2 minutes'`
  await second.signal('SIGTERM')
  const third = await start()
  await eventually(async () => (await db`select 1 from messages where status = 'unknown'`).length === 1)
  await third.signal('SIGTERM')
}, 300_000)
