/**
 * Measures how conversations and their order grow under messages: `node bench/churn.ts [--minutes 30] [--rate 400]`.
 * Messages come evenly over 20,000 conversations through the functions of the service, every fourth one is an answer, and
 * the list is read meanwhile. Autovacuum runs as on the embedded server. Prints a line per minute; at the end the size
 * must be at most 1.1 times that of half time.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Command } from 'commander'
import { listConversations, listConversationsFrom } from '../src/conversations/list/conversation-list-store.ts'
import { connect, type Pool } from '../src/db/connect.ts'
import { startEmbedded } from '../src/db/embedded/start.ts'
import { migrate } from '../src/db/migration/migrate.ts'
import type { InboundRecord } from '../src/inbound/handling/recording/decide-inbound.ts'
import { recordInbound } from '../src/inbound/handling/recording/record-inbound.ts'
import type { Send } from '../src/messages/batch/decide-sends.ts'
import { prepareSends } from '../src/messages/batch/prepare-sends.ts'
import { createCompany, createSender, messageFrom } from '../test/world.ts'
import { figure, tableOf } from './figure.ts'

const CONVERSATIONS = 20_000
const BATCH = 40
const ANSWERS = 10

const program = new Command().option('--minutes <n>', 'how long', '30').option('--rate <n>', 'messages a second', '400')
const options = program.parse().opts<{ minutes: string; rate: string }>()
const minutes = Number(options.minutes)
const rate = Number(options.rate)

const folder = await mkdtemp(join(tmpdir(), 'parley-churn-'))
const server = await startEmbedded(folder)
const db = connect(server.url, { max: 2 })
try {
  await migrate(db)
  await run(db)
} finally {
  await db.end()
  await server.stop()
  await rm(folder, { recursive: true, force: true })
}

async function run(pool: Pool): Promise<void> {
  const companyId = await createCompany(pool)
  const senderId = await createSender(pool, companyId)
  let written = 0
  const write = async () => {
    const customers = Array.from({ length: BATCH }, () => {
      written += 1
      // A stride that meets every conversation before any of them again, and never neighbours in one batch.
      return String(393_310_000_000 + ((written * 7_919) % CONVERSATIONS))
    })
    const at = new Date()
    const received = customers.slice(ANSWERS).map((customer, i) => inbound(companyId, senderId, customer, written + i))
    await pool.begin((tx) => recordInbound(tx, received, 'service', at))
    await prepareSends(
      pool,
      customers.slice(0, ANSWERS).map((customer) => answer(companyId, senderId, customer)),
      at,
    )
  }
  while (written < CONVERSATIONS) await write()
  const startedAt = performance.now()
  const begunWith = written
  const sizes: number[] = []
  let before = await readUpdates(pool)
  for (let minute = 1; minute <= minutes; minute += 1) {
    while (performance.now() - startedAt < minute * 60_000) {
      await write()
      if (written % (BATCH * 25) === 0) await readList(pool, companyId)
      const due = startedAt + ((written - begunWith) / rate) * 1_000
      await sleep(Math.max(0, due - performance.now()))
    }
    const now = await readUpdates(pool)
    const hot = ((100 * (now.hot - before.hot)) / (now.updates - before.updates)).toFixed(1)
    before = now
    sizes.push(await tell(pool, `${minute} min, ${written - begunWith} messages, ${hot} % HOT`))
  }
  const [half = 0, last = 0] = [sizes[(sizes.length >> 1) - 1], sizes.at(-1)]
  console.log(tableOf([figure('size at the end in terms of half time', last / half, 'times', { atMost: 1.1 })]))
}

function inbound(companyId: number, senderId: number, customer: string, n: number): InboundRecord {
  const text = `Is my order ${n} ready? I have been waiting for it.`
  return { ...messageFrom(companyId, senderId, customer), wamid: `wamid.${n}.${customer}`, text }
}

function answer(companyId: number, senderId: number, customer: string): Send {
  return {
    ...{ companyId, senderId, identity: customer, phone: customer, account: 'WABA1', limitScope: `sender:${senderId}` },
    ...{ conversationId: null, contactSource: 'WhatsApp', sourceType: 'service' },
    ...{ needsWindow: false, needsConsent: false, dailyLimit: null, slotSeconds: null, idempotencyId: null },
    ...{ type: 'text', template: null, text: 'It is on its way.', media: null, senderName: 'Shop key' },
    ...{ content: null, quotedWamid: null },
  }
}

async function readList(pool: Pool, companyId: number): Promise<void> {
  const page = await listConversations(pool, companyId, { offset: 0, limit: 20, total: CONVERSATIONS })
  const last = page.at(-1)
  if (last !== undefined) await listConversationsFrom(pool, companyId, { side: 'before', at: last }, 20)
}

/** How many updates of conversations there were, and how many of them wrote no entry into an index. */
async function readUpdates(pool: Pool): Promise<{ updates: number; hot: number }> {
  const [row] = await pool<{ updates: number; hot: number }[]>`
    select n_tup_upd::int as updates, n_tup_hot_upd::int as hot from pg_stat_user_tables where relname = 'conversations'
  `
  return row ?? { updates: 0, hot: 0 }
}

/** Prints the size of each relation in MB after these words, and answers their sum. */
async function tell(pool: Pool, words: string): Promise<number> {
  const relations = await pool<{ name: string; bytes: number }[]>`
    select relation.relname as name, pg_relation_size(relation.oid)::int as bytes
    from pg_class relation
    left join pg_index on pg_index.indexrelid = relation.oid
    where coalesce(pg_index.indrelid, relation.oid)::regclass::text in ('conversations', 'conversation_activity')
    order by relation.oid
  `
  const megabytes = relations.map(({ name, bytes }) => `${name} ${(bytes / 2 ** 20).toFixed(1)}`)
  console.log(`${words}; MB: ${megabytes.join(', ')}`)
  return relations.reduce((sum, { bytes }) => sum + bytes, 0)
}
