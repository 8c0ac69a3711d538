import { messageOf, StartError } from '../start-error.ts'
import { sqlState } from './pool/failure.ts'

/**
 * What a database that answers refuses to a start, a migration or a command, as one sentence with its remedy; undefined for
 * every other error (docs/operating.md, Schema and roles).
 */
export function explainRefusal(error: unknown): StartError | undefined {
  const words = messageOf(error)
  switch (sqlState(error)) {
    case '42501':
      return new StartError(/extension/.test(words) ? extension(words) : right(words), error)
    case '3F000':
      return new StartError(right(words), error)
    case '42P01':
      return new StartError(missingTable(words), error)
    case '58P01':
    case '0A000':
      return /extension/.test(words) ? new StartError(extension(words), error) : undefined
    default:
      return undefined
  }
}

const right = (words: string): string =>
  /schema/.test(words)
    ? `The role of DATABASE_URL may not create tables in the schema public of its database (${words}): make it the owner ` +
      '(alter database NAME owner to ROLE), or run parley migrate as the owner and start with MIGRATE=off'
    : `The role of DATABASE_URL lacks a right (${words}): grant what deploy/roles.sql grants, or use the role that owns the tables`

const extension = (words: string): string =>
  `The extensions pg_trgm and btree_gin are missing (${words}): install the contrib package of the server ` +
  '(postgresql-contrib), and run create extension pg_trgm; create extension btree_gin as a superuser in the database'

const missingTable = (words: string): string =>
  `The database lacks a table of this version (${words}): restore the whole backup, or run parley migrate as the owner of the schema`
