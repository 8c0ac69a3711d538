import { expect, onTestFinished, test } from 'vitest'
import { createTestDatabase } from '../../../test/database.ts'
import { createRoles } from '../../../test/schema/roles.ts'
import { connect } from '../connect.ts'
import { checkSchema, migrate } from '../migration/migrate.ts'
import { explainRefusal } from './start-refusal.ts'

function open(url: string) {
  const db = connect(url, { max: 1 })
  onTestFinished(() => db.end())
  return db
}

/** The message to the operator, as main.ts prints it. */
async function sentenceOf(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => expect.fail('nothing was refused'),
    (error: unknown) => error,
  )
  const explained = explainRefusal(error) ?? error
  expect(explained).toMatchObject({ name: 'StartError' })
  expect(String(explained)).not.toContain('\n')
  return String(explained)
}

test('a role that may not create tables in public gets an error with the remedy', async () => {
  const { runtimeUrl } = await createRoles()
  const sentence = await sentenceOf(migrate(open(runtimeUrl)))
  expect(sentence).toContain('may not create tables in the schema public')
  expect(sentence).toContain('run parley migrate as the owner and start with MIGRATE=off')
})

test('a role that may not read the tables gets an error with their names and the grant', async () => {
  const { ownerUrl, runtimeUrl, adminUrl } = await createRoles()
  await migrate(open(ownerUrl))
  await checkSchema(open(runtimeUrl))
  const role = new URL(runtimeUrl).username
  await open(adminUrl).unsafe(`revoke update on companies, media from ${role}`)
  expect(await sentenceOf(checkSchema(open(runtimeUrl)))).toContain(
    'The role of DATABASE_URL may not read and write the tables companies, media: grant what deploy/roles.sql grants',
  )
  await open(adminUrl).unsafe(`revoke select on migrations from ${role}`)
  expect(await sentenceOf(checkSchema(open(runtimeUrl)))).toContain('permission denied for table migrations')
})

test('a table that is missing is named, with MIGRATE=off and on', async () => {
  const { db } = await createTestDatabase()
  await db`drop table email_clicks`
  const sentence = 'The database lacks the table email_clicks, which its migrations created: restore the whole backup'
  expect(await sentenceOf(checkSchema(db))).toContain(sentence)
  expect(await sentenceOf(migrate(db))).toContain(sentence)
})

test('a missing table is reported with the remedy', async () => {
  const { db } = await createTestDatabase()
  const sentence = await sentenceOf(Promise.resolve(db`select from absent`))
  expect(sentence).toContain('relation "absent" does not exist')
  expect(sentence).toContain('restore the whole backup')
})

test('a server that is too old is refused by its version', async () => {
  const { db, url } = await createTestDatabase()
  // Stands before the server's own function, so that this server says what an older one says.
  await db.unsafe(`
    create schema older;
    create function older.current_setting(name text) returns text language sql
      return case name when 'server_version_num' then '140011' when 'server_version' then '14.11' else pg_catalog.current_setting(name) end;
  `)
  const old = open(`${url}&search_path=older,pg_catalog,public`)
  for (const check of [migrate, checkSchema]) {
    expect(await sentenceOf(check(old))).toContain('The database is PostgreSQL 14.11; Parley needs version 15 or later')
  }
})

test('a server without the contrib package gets an error that names the package', () => {
  const message = 'extension "pg_trgm" is not available'
  const refusal = explainRefusal(Object.assign(new Error(message), { code: '0A000' }))
  expect(refusal?.message).toContain('install the contrib package of the server (postgresql-contrib)')
  expect(explainRefusal(Object.assign(new Error('cursors are not supported'), { code: '0A000' }))).toBeUndefined()
})
