import type { Db } from '../db/connect.ts'
import type { TrackingToken } from './tracking-token.ts'

export type Fetch = {
  token: TrackingToken
  /** False: only looked up. */
  isCounted: boolean
  isMachine: boolean
}

/** What a token leads to; `target` is null for what is no link. */
export type Found = { target: string | null }

/**
 * Records fetches of tracked addresses, all in one statement, and answers for each what it leads to; undefined when
 * its token is not ours. When it answers, the counts are kept.
 */
export async function recordFetches(db: Db, fetches: readonly Fetch[]): Promise<(Found | undefined)[]> {
  const tokens = fetches.map(({ token }) => token)
  const rows = await db<(Found & { place: number })[]>`
    select place, target
    from record_email_fetches(
      ${tokens.map(({ companyId }) => companyId)}::bigint[],
      ${tokens.map(({ emailId }) => emailId)}::bigint[],
      ${tokens.map(({ link }) => link)}::integer[],
      ${tokens.map(({ tail }) => tail.toString('hex'))}::text[],
      ${tokens.map(({ mac }) => mac.toString('hex'))}::text[],
      ${fetches.map(({ isCounted }) => String(isCounted))}::text[]::boolean[],
      ${fetches.map(({ isMachine }) => String(isMachine))}::text[]::boolean[]
    )
  `
  const found = new Map(rows.map(({ place, target }) => [place, { target }]))
  return fetches.map((_, index) => found.get(index + 1))
}

/** Whose mail a token is of, and to whom it went. */
export async function findMailed(
  db: Db,
  token: TrackingToken,
): Promise<{ companyId: number; recipient: string } | undefined> {
  const [row] = await db<{ companyId: number; recipient: string }[]>`
    select company_id, recipient
    from emails
    where (company_id, id) = (${token.companyId}, ${token.emailId})
      and is_marketing
      and substring(sha256(secret || ${token.tail}) for 18) = ${token.mac}
  `
  return row
}
