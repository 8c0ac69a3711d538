import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { connect } from '../../../src/db/connect.ts'
import { type Postgres, startPostgres } from '../database/postgres.ts'
import type { PreviousRelease } from './previous-release.ts'

const ROLES = new URL('../../../deploy/roles.sql', import.meta.url)

/** The database of a run with the roles of deploy/roles.sql: the service cannot change the schema. */
export type TwoRoles = Postgres & { ownerUrl: string }

/** Starts it with the schema of the previous release. */
export async function startTwoRoles(previous: PreviousRelease): Promise<TwoRoles> {
  const postgres = await startPostgres()
  const as = (role: string) => postgres.url.replace('//parley@', `//parley_${role}@`)
  // The database is there: what is left of the file are statements of one line each.
  const grants = readFileSync(ROLES, 'utf8').split('\\connect parley')[1] ?? ''
  const db = connect(postgres.url, { max: 1, applicationName: 'faults' })
  await db.unsafe(`create role parley_owner login; create role parley_runtime login;
    alter database parley owner to parley_owner; grant connect on database parley to parley_runtime; ${grants}`)
  await db.end()
  const ownerUrl = as('owner')
  execFileSync(process.execPath, [previous.main, 'migrate'], { env: settings(ownerUrl), stdio: 'pipe' })
  return { ...postgres, url: as('runtime'), ownerUrl }
}

const settings = (url: string): Record<string, string> => ({
  PATH: process.env.PATH ?? '',
  DATABASE_URL: url,
  ADMIN_TOKEN: randomBytes(24).toString('hex'),
  ENCRYPTION_KEY: randomBytes(32).toString('base64'),
})
