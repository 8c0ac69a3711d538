import { randomBytes } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { beforeAll, expect, it } from 'vitest'
import { createTestDatabase } from '../../test/database.ts'
import { createCompany, createSender } from '../../test/world.ts'
import type { Pool } from '../db/connect.ts'
import { checkSecrets, ensureServiceSecret, findKeyIds, resealSecrets, SEALED_COLUMNS } from './secret-store.ts'
import { createCipher } from './secrets.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const newKey = () => randomBytes(32).toString('base64')
const [oldKey, newerKey] = [newKey(), newKey()]
const [old, both, fresh] = [createCipher([oldKey]), createCipher([newerKey, oldKey]), createCipher([newerKey])]

let db: Pool
let companyId: number
beforeAll(async () => {
  ;({ db } = await createTestDatabase())
  companyId = await createCompany(db)
  for (let n = 0; n < 3; n += 1) await createSender(db, companyId)
  await db`
    update senders set
      access_token = ${old.encrypt('token')}, app_secret = ${old.encrypt('app')}, webhook_secret = ${old.encrypt('hook')}
    where company_id = ${companyId}
  `
  // Each value is sealed by itself.
  await db`update senders set app_secret = null where company_id = ${companyId} and not is_preferred`
  await db`update senders set webhook_secret = ${old.encrypt('other')} where not is_preferred`
  await db`
    insert into registrations (company_id, name, url, events, secret, static_headers, deleted_at)
    values (${companyId}, 'Receiver', 'https://x.example', '{a}', ${old.encrypt('sign')}, ${old.encrypt('[]')}, now())
  `
  await db`
    insert into email_settings (company_id, from_address, smtp_url)
    values (${companyId}, 'a@x.example', ${old.encrypt('smtp://u:p@h')})
  `
})

it('knows every column that the tables call encrypted', () => {
  const found = globSync('migrations/*.sql', { cwd: ROOT }).flatMap((file) => {
    const tables = readFileSync(`${ROOT}/${file}`, 'utf8')
      .split(/^(?:create (?:unlogged )?|alter )table /m)
      .slice(1)
    return tables.flatMap((text) =>
      [...text.matchAll(/^ {2}(?:add column )?(\w+) .*-- encrypted/gm)].map(
        ([, column]) => `${/^\w+/.exec(text)?.[0]}.${column}`,
      ),
    )
  })
  expect(found.toSorted()).toEqual(SEALED_COLUMNS.map(({ table, column }) => `${table}.${column}`).toSorted())
})

it('knows every text column whose name is that of a secret', async () => {
  const rows = await db<{ name: string }[]>`
    select table_name || '.' || column_name as name
    from information_schema.columns
    where table_schema = 'public' and data_type in ('text', 'character varying', 'json', 'jsonb')
      and column_name ~ 'secret|token|password|credential|smtp|static_headers|private'
  `
  const sealedColumns: string[] = SEALED_COLUMNS.map(({ table, column }) => `${table}.${column}`)
  expect(rows.map(({ name }) => name).filter((name) => !sealedColumns.includes(name))).toEqual([])
})

it('refuses keys that cannot read what is stored, in one sentence that names the key', async () => {
  await expect(checkSecrets(db, old)).resolves.toBeUndefined()
  await expect(checkSecrets(db, both)).resolves.toBeUndefined()
  await expect(checkSecrets(db, fresh)).rejects.toMatchObject({
    name: 'StartError',
    message: expect.stringContaining(`encrypted with the key ${old.keyIds[0]}`),
  })
})

it('seals everything with the first key, that of removed rows too, and nothing a second time', async () => {
  expect(await findKeyIds(db)).toEqual([...old.keyIds])
  expect(await resealSecrets(db, both)).toBeGreaterThan(0)
  expect(await findKeyIds(db)).toEqual([...fresh.keyIds])
  expect(await resealSecrets(db, both)).toBe(0)
  const [sender] = await db`select access_token, app_secret, webhook_secret from senders where is_preferred`
  const { accessToken, appSecret, webhookSecret } = sender as unknown as Record<string, string>
  expect([accessToken, appSecret, webhookSecret].map((sealed) => fresh.decrypt(sealed!))).toEqual([
    'token',
    'app',
    'hook',
  ])
  const [registration] = await db<{ secret: string; staticHeaders: string }[]>`select * from registrations`
  expect(fresh.decrypt(registration!.secret)).toBe('sign')
  expect(fresh.decrypt(registration!.staticHeaders)).toBe('[]')
  await expect(checkSecrets(db, fresh)).resolves.toBeUndefined()
})

it('generates a secret of the service once: all processes read the same, and the database holds it encrypted', async () => {
  const read = () => ensureServiceSecret(db, both, 'opt-out key')
  const secrets = new Set(await Promise.all([read(), read(), read()]))
  expect([...secrets, await read()]).toEqual([expect.stringMatching(/^[0-9a-f]{64}$/), [...secrets][0]])
  const [row] = await db<{ value: string }[]>`select value from service_secrets where name = 'opt-out key'`
  expect(row!.value).not.toContain([...secrets][0])
  expect(await ensureServiceSecret(db, fresh, 'opt-out key')).toBe([...secrets][0])
})
