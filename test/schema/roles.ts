import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { inject } from 'vitest'
import { connect } from '../../src/db/connect.ts'
import { atFileEnd } from '../file-end.ts'

export const ROLES = new URL('../../deploy/roles.sql', import.meta.url)

/** A database of this test file's own with the two roles of deploy/roles.sql, empty; dropped when the file ends. */
export async function createRoles(): Promise<{ ownerUrl: string; runtimeUrl: string; adminUrl: string }> {
  const name = `own${randomBytes(5).toString('hex')}`
  const server = inject('databaseUrl').replace('/parley?', '/postgres?')
  const adminUrl = server.replace('/postgres?', `/${name}?`)
  const text = readFileSync(ROLES, 'utf8')
    .replaceAll('parley', name)
    .replace(/^--.*$/gm, '')
  const [before = '', after = ''] = text.replaceAll(/:'(\w+)'/g, "'$1'").split(`\\connect ${name}`)
  await run(server, before)
  await run(adminUrl, after)
  atFileEnd(() =>
    run(server, `drop database ${name} with (force); drop role ${name}_owner; drop role ${name}_runtime;`),
  )
  const as = (role: string) => adminUrl.replace(/^postgres:\/\/[^/]*/, `postgres://${name}_${role}:secret@localhost`)
  return { ownerUrl: as('owner'), runtimeUrl: as('runtime'), adminUrl }
}

/** One statement at a time, as psql sends them: a database cannot be created among others. `\\gexec` runs what a query answers. */
async function run(url: string, text: string): Promise<void> {
  const db = connect(url, { max: 1 })
  for (const [, statement = '', end] of text.matchAll(/([^;\\]+)(;|\\gexec)/g)) {
    const rows = await db.unsafe<Record<string, string>[]>(statement)
    if (end !== ';') for (const row of rows) await db.unsafe(Object.values(row)[0] ?? '')
  }
  await db.end()
}
