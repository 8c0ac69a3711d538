import { expect, test } from 'vitest'
import { endBlocked, holdOpen, untilBlocked } from '../held-locks.ts'
import { eventually } from '../service.ts'
import { expireLeases } from '../world.ts'
import { startKilledSender } from './killed-sender.ts'

test('a scheduled message is sent once, though processes are killed before it, and while the provider is asked', async () => {
  const { db, first, start, send, received, behave } = await startKilledSender()
  const [early, asked] = ['393331110001', '393331110002']
  const schedule = async (recipient: string) => {
    const { status, body } = await send(first.address, {
      recipient,
      type: 'template',
      template: { name: 'shipping_notice' },
      sendAt: new Date(Date.now() + 3_600_000).toISOString(),
    })
    expect(status).toBe(202)
    return body.data.id as number
  }
  const [earlyId, askedId] = [await schedule(early), await schedule(asked)]
  const makeDue = (id: number) => db`update jobs set due_at = now() where kind = 'message.send' and subject_id = ${id}`
  const stateOf = async (id: number) => {
    const [row] = await db<{ status: string; message: string | null }[]>`
      select scheduled.status, message.status as message
      from scheduled_messages scheduled
      left join messages message on (message.company_id, message.id) = (scheduled.company_id, scheduled.message_id)
      where scheduled.id = ${id}
    `
    return row
  }
  const untilEnded = () =>
    eventually(async () => (await db`select from jobs where kind = 'message.send' and due_at <= now()`).length === 0)

  // Killed before its transaction: the message waits, and goes with the next process.
  const release = await holdOpen(db, 'select from scheduled_messages for update')
  await makeDue(earlyId)
  await untilBlocked(db)
  await first.signal('SIGKILL')
  await endBlocked(db)
  await release()
  expect(await stateOf(earlyId)).toEqual({ status: 'scheduled', message: null })
  await expireLeases(db)
  const second = await start()
  await untilEnded()
  expect(await stateOf(earlyId)).toEqual({ status: 'sent', message: 'sent' })

  // Killed while the provider, which took it, does not answer: it is not sent again.
  await behave({ hang: true })
  await makeDue(askedId)
  await eventually(async () => (await received()).some(({ to }) => to === asked))
  await second.signal('SIGKILL')
  await behave({ hang: false })
  await expireLeases(db)
  await db`update messages set created_at = now() - interval '2 minutes' where status = 'pending'`
  const third = await start()
  await untilEnded()
  await eventually(async () => (await stateOf(askedId))?.message === 'unknown')
  await third.signal('SIGTERM')
  expect(await stateOf(askedId)).toEqual({ status: 'sent', message: 'unknown' })
  expect((await received()).map(({ to }) => to).sort()).toEqual([early, asked])
}, 300_000)
