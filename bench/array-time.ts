import type { ContactWrite } from '../src/contacts/contact-record.ts'
import { upsertContacts } from '../src/contacts/write/contact-upsert.ts'
import { connect, type Pool } from '../src/db/connect.ts'
import type { BenchContext } from './bench.ts'
import { figure } from './figure.ts'
import type { Company, Stage } from './stage.ts'

const ARRAY = 1_000
const ROUNDS = 3
/** Database time of an array of 1,000. */
const GOAL_MS = 300
const PHONE = '+393310000000'

/** Arrays of 1,000 in the round n, from the cheapest to those that repeat the most. */
const ARRAYS: Record<string, (n: number) => ContactWrite[]> = {
  'new contacts': (n) => times((i) => ({ email: `new${n}-${i}@x.org`, phone: `+39331${n}${1_000_000 + i}` })),
  'known contacts, all changed': (n) => times((i) => ({ email: `known${i}@x.org`, firstName: `Ada ${n}` })),
  'one contact': (n) => times((i) => ({ email: 'one@x.org', firstName: `Ada ${n}-${i}` })),
  'one phone and two emails, alternately': (n) =>
    times((i) => ({ email: `two${i % 2}@x.org`, phone: PHONE, lastName: `${n}` })),
  'one phone and 1,000 emails': (n) => times((i) => ({ email: `many${n}-${i}@x.org`, phone: PHONE })),
  'one email and 1,000 phones': (n) => times((i) => ({ email: 'mover@x.org', phone: `+39332${n}${1_000_000 + i}` })),
  '100 emails and 100 phones, crossed': (n) =>
    times((i) => ({
      email: `cross${i % 100}@x.org`,
      phone: `+39333${1_000_000 + ((i * 7 + n) % 100)}`,
      emailConsent: i % 3 === 0,
    })),
}

const times = (make: (i: number) => ContactWrite): ContactWrite[] => Array.from({ length: ARRAY }, (_, i) => make(i))

/** The time that PostgreSQL says it worked on arrays, alone on a connection: the most of some rounds. */
export async function measureArrayTime({ report }: BenchContext, stage: Stage, { companyId }: Company): Promise<void> {
  const db = connect(stage.databaseUrl, { max: 1, applicationName: 'bench-arrays', optOutKey: 'key-of-the-bench' })
  try {
    for (const [name, make] of Object.entries(ARRAYS)) {
      const spent: number[] = []
      for (let round = 0; round < ROUNDS; round += 1) {
        const before = await activeTime(db)
        await upsertContacts(db, companyId, make(round), { clientId: null, source: 'api' })
        spent.push((await activeTime(db)) - before)
      }
      report(figure(`database time of an array of 1,000: ${name}`, Math.max(...spent), 'ms', { atMost: GOAL_MS }))
    }
  } finally {
    await db.end()
  }
}

/** Milliseconds that the sessions of the database spent on statements, this session's own until now included. */
async function activeTime(db: Pool): Promise<number> {
  await db`select pg_stat_force_next_flush()`
  const [row] = await db<{ ms: number }[]>`
    select active_time as ms from pg_stat_database where datname = current_database()
  `
  return row?.ms ?? 0
}
