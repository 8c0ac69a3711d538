import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { expiry, listExpiring } from '../../src/db/lifetime-store.ts'
import { newStorageKey } from '../../src/media/blobs/blob-store.ts'
import { discardFiles } from '../../src/media/discarded/discarded-file-store.ts'
import { listLifetimes } from '../../src/personal-data/lifetimes/lifetimes.ts'
import { createTestDatabase } from '../database.ts'
import { startMailing } from '../emails/email-world.ts'
import { ALL, expireAll } from '../lifetimes.ts'
import { createCompany } from '../world.ts'

const { db, deps } = await startMailing({ messageDays: 8, emailDays: 30 }, { mirrors: false })

const readTables = () => db<{ name: string; comment: string | null }[]>`
  select relname as name, obj_description(oid, 'pg_class') as comment
  from pg_class
  where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition
  order by relname
`

test('every table states its lifetime, as docs/operating.md lists it', async () => {
  const text = readFileSync(new URL('../../docs/operating.md', import.meta.url), 'utf8')
  const section = text.slice(text.indexOf('\n## Lifetimes\n')).split('\n## ')[1]!
  const listed = [...section.matchAll(/^\| `(\w+)` \| (.+) \|$/gm)].map(([, name, lifetime]) => [
    name,
    `Lifetime: ${lifetime}`,
  ])
  expect(listed).toEqual((await readTables()).map(({ name, comment }) => [name, comment]))
})

test.each(
  listExpiring({ messageDays: undefined, deliveryLogDays: 30 })
    .filter(({ setting }) => setting === undefined)
    .map((one) => [one.table, one] as const),
)('expired rows of %s are found by an index', async (_, one) => {
  const plan = await db.begin(async (tx) => {
    await tx`set local enable_seqscan = off`
    const rows = await tx<{ queryPlan: string }[]>`explain ${expiry(one, ALL)}`
    return rows.map((row) => Object.values(row)[0]).join('\n')
  })
  expect(plan).toMatch(/Index Scan/)
  expect(plan).not.toMatch(/Seq Scan|Sort/)
})

test('a step that fails keeps no other one, and a row that cannot be deleted keeps no other row', async () => {
  // Not the service's database, whose sweeps would delete the file first.
  const { db } = await createTestDatabase()
  const own = { ...deps, db }
  const companyId = await createCompany(db, 'Acme')
  const addMail = async (days: number) => {
    const [row] = await db<[{ id: number }]>`
      insert into emails (company_id, uid, recipient, subject, message_id, secret, is_marketing, status, created_at)
      values (
        ${companyId}, ${`eml_${days}`}, 'ada@example.org', 'Hello', '', '', false, 'sent', now() - make_interval(days => ${days})
      )
      returning id
    `
    return row.id
  }
  const mails = [await addMail(62), await addMail(61), await addMail(60)]
  await db.unsafe(`
    create function refuse() returns trigger language plpgsql as $$ begin raise exception 'of the row'; end $$;
    create trigger refuse before delete on emails for each row when (old.id = ${mails[1]}) execute function refuse()
  `)
  const key = newStorageKey(companyId)
  await discardFiles(db, companyId, [key])
  const remove = () => Promise.reject(new Error('AccessDenied'))
  const failed: string[] = []
  for (const { name, expire } of listLifetimes({ ...own, blobStore: { remove } }))
    await expire(new AbortController().signal).catch((error) => failed.push(`${name}: ${error.message}`))
  await db`drop trigger refuse on emails`
  expect(failed).toEqual(['discarded_files: AccessDenied', 'emails: of the row'])
  expect(await db`select id from emails where company_id = ${companyId}`).toEqual([{ id: mails[1] }])
  expect(await db`select storage_key from discarded_files where company_id = ${companyId}`).toEqual([
    { storageKey: key },
  ])
  await expireAll(own)
  expect(await db`select from emails where company_id = ${companyId}`).toHaveLength(0)
})

test('each step has counters of its own', async () => {
  const text = await deps.metrics.registry.metrics()
  const counted = new Set(
    [...text.matchAll(/^parley_sweeps_total\{sweep="(\w+)",outcome="failed"\}/gm)].map(([, name]) => name),
  )
  const names = listLifetimes(deps).map(({ name }) => `expiry_${name}`)
  expect(names.filter((name) => !counted.has(name))).toEqual([])
  expect(new Set(names).size).toBe(names.length)
})
