import { setTimeout as sleep } from 'node:timers/promises'
import type { Acknowledged } from '../evidence.ts'
import type { Random } from '../random.ts'
import { ask } from './client.ts'
import type { Company } from './company.ts'
import type { Progress } from './progress.ts'

const WEBHOOK = '/public/v1/webhooks/whatsapp'
const POSTERS = 12
const CUSTOMERS_EACH = 12
const REPEATED = 0.1
const BATCHED = 0.2
const POISONED = 0.02
const LARGEST_BATCH = 6
const RETRY_MS = 100

type Load = {
  addresses: string[]
  companies: Company[]
  random: Random
  progress: Progress
  total: number
  /** Takes the id of everything that is posted. */
  posted: Set<string>
}

/** The customers of a poster, and the number that they write to. */
const customersOf = (poster: number): string[] =>
  Array.from({ length: CUSTOMERS_EACH }, (_, n) => `39333${String(1_000_000 + poster * CUSTOMERS_EACH + n)}`)

export const customers = (): string[] => Array.from({ length: POSTERS }, (_, poster) => customersOf(poster)).flat()

/**
 * Customers' messages as a provider posts them: each body again until it is answered 200, the next one of the same
 * customers afterwards. Answers what was acknowledged, each customer's messages in their order.
 */
export async function postInbound(load: Load, acknowledged: Acknowledged[]): Promise<void> {
  let created = 0
  const post = async (body: string) => {
    while ((await ask(load.addresses, load.random, WEBHOOK, body)).status !== 200) await sleep(RETRY_MS)
  }
  const posters = Array.from({ length: POSTERS }, async (_, poster) => {
    const { random, companies } = load
    const company = companies[poster % companies.length]
    if (company === undefined) return
    const own = customersOf(poster)
    const postNext = async () => {
      const size = random.next() < BATCHED ? 2 + random.below(LARGEST_BATCH - 1) : 1
      const messages = Array.from({ length: size }, () => textOf(random, random.pick(own), created++))
      const poison = random.next() < POISONED ? [random.pick(POISONS)(random.pick(own))] : []
      for (const item of [...poison, ...messages]) if ('id' in item) load.posted.add(storedIdOf(item.id))
      const body = bodyOf(company.phoneNumberId, random.shuffle([poison, messages]).flat())
      await post(body)
      for (const { from, id, text } of messages)
        acknowledged.push({ wamid: id, customer: from, phoneNumberId: company.phoneNumberId, text: text.body })
      if (random.next() < REPEATED) await post(body)
    }
    while (created < load.total) await load.progress.run(created / load.total, postNext)
  })
  await Promise.all(posters)
}

/** The service keeps U+FFFD where an id has NUL. */
const storedIdOf = (id: unknown): string => String(id).replaceAll('\0', '\ufffd')

type Text = { from: string; id: string; text: { body: string } }

const textOf = (random: Random, from: string, number: number): Text => ({
  from,
  id: `wamid.${number}.${random.below(1e9)}`,
  text: { body: `n${number}` },
  ...{ timestamp: String(Math.floor(Date.now() / 1000)), type: 'text' },
})

/** Items that no service can keep as messages; none of them may delay or lose another. */
const POISONS: ((from: string) => object)[] = [
  (from) => ({ from, id: 'x'.repeat(5_000), timestamp: '1760000000', type: 'text', text: { body: 'long id' } }),
  (from) => ({ from, timestamp: 'soon', type: 'text', text: { body: 12 } }),
  () => ({ from: null, id: null, type: 'text' }),
  (from) => ({ from, id: `wamid.\0${from}`, timestamp: '1760000000', type: 'text', text: { body: '\0\ud800' } }),
  (from) => ({ from, id: `wamid.time.${from}`, timestamp: '9'.repeat(400), type: 'text', text: { body: 'late' } }),
]

const bodyOf = (phoneNumberId: string, messages: object[]): string =>
  JSON.stringify({
    object: 'whatsapp_business_account',
    entry: [
      {
        id: '901',
        changes: [
          {
            field: 'messages',
            value: {
              messaging_product: 'whatsapp',
              metadata: { display_phone_number: '390000000', phone_number_id: phoneNumberId },
              messages,
            },
          },
        ],
      },
    ],
  })
