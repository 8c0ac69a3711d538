import { messageOf, StartError } from '../../platform/start-error.ts'
import { sqlState } from '../pool/failure.ts'

/** Returns the remedy when the database refuses a start, migration or command (docs/operating.md, Schema and roles). */
export function explainRefusal(error: unknown): StartError | undefined {
  const message = messageOf(error)
  switch (sqlState(error)) {
    case '42501':
      return new StartError(/extension/.test(message) ? extension(message) : right(message), error)
    case '3F000':
      return new StartError(right(message), error)
    case '42P01':
      return new StartError(missingTable(message), error)
    case '58P01':
    case '0A000':
      return /extension/.test(message) ? new StartError(extension(message), error) : undefined
    default:
      return undefined
  }
}

const right = (message: string): string =>
  /schema/.test(message)
    ? `The role of DATABASE_URL may not create tables in the schema public of its database (${message}): make it the owner ` +
      '(alter database NAME owner to ROLE), or run parley migrate as the owner and start with MIGRATE=off'
    : `The role of DATABASE_URL lacks a right (${message}): grant what deploy/roles.sql grants, or use the role that owns the tables`

const extension = (message: string): string =>
  `The extensions pg_trgm and btree_gin are missing (${message}): install the contrib package of the server ` +
  '(postgresql-contrib), and run create extension pg_trgm; create extension btree_gin as a superuser in the database'

const missingTable = (message: string): string =>
  `The database lacks a table of this version (${message}): restore the whole backup, or run parley migrate as the owner of the schema`
