import { expect, test } from 'vitest'
import { startKilledSender } from './killed-sender.ts'

const SENDS = Number(process.env.SENDS ?? 200)
const CUSTOMERS = ['393331000001', '393331000002', '393331000003', '393331000004']
const IN_FLIGHT = 16

test(
  'two processes that send to the same four customers refuse nothing, and number the messages of each conversation',
  async () => {
    const { db, first, start, send } = await startKilledSender()
    await db`update senders set throughput_per_second = 1001 where company_id > 0` // no throttle
    const second = await start()
    const statuses = new Map<number, number>()
    let next = 0
    const sendNext = async (address: string) => {
      while (next < SENDS) {
        const recipient = CUSTOMERS[next % CUSTOMERS.length]!
        next += 1
        for (let status = 503; status === 503; statuses.set(status, (statuses.get(status) ?? 0) + 1)) {
          status = (await send(address, { recipient, type: 'template', template: { name: 'shipping_notice' } })).status
        }
      }
    }
    const addresses = Array.from({ length: IN_FLIGHT }, () => [first.address, second.address]).flat()
    await Promise.all(addresses.map(sendNext))
    console.info('Answers by status:', Object.fromEntries(statuses))
    // A customer that another process has locked for seconds is 503: the test sends again.
    expect([...statuses.keys()].filter((status) => status !== 503)).toEqual([200])
    const conversations = await db<{ messages: number; numbered: number; last: number }[]>`
      select count(*)::integer as messages, count(distinct seq)::integer as numbered, max(seq)::integer as last
      from messages group by company_id, conversation_id
    `
    const each = SENDS / CUSTOMERS.length
    expect(conversations).toEqual(CUSTOMERS.map(() => ({ messages: each, numbered: each, last: each })))
  },
  Math.max(120_000, SENDS * 200),
)
