import { type Db, jsonRows } from '../../db/connect.ts'
import type { TrackingToken } from './tracking-token.ts'

export type Fetch = {
  token: TrackingToken
  /** False: only looked up. */
  isCounted: boolean
  isMachine: boolean
}

/** The mail and link of a token; `target` is null if it is no link. */
export type Found = { target: string | null }

/**
 * Records fetches of tracked addresses, all in one statement, and answers for each what it leads to; undefined when
 * its token is not ours. When it answers, the counts are kept.
 */
export async function recordFetches(db: Db, fetches: readonly Fetch[]): Promise<(Found | undefined)[]> {
  const items = fetches.map(({ token, isCounted, isMachine }) => ({
    company_id: token.companyId,
    email_id: token.emailId,
    link: token.link,
    tail: token.tail,
    mac: token.mac,
    counted: isCounted,
    machine: isMachine,
  }))
  const [row] = await db<{ targets: Record<string, string | null> }[]>`
    select record_email_fetches(${jsonRows(db, items)}) as targets
  `
  return fetches.map((_, index) => {
    const target = row?.targets[index + 1]
    return target === undefined ? undefined : { target }
  })
}

export type Mailed = { companyId: number; emailId: number; recipient: string }

/** The mail that a token names. */
export async function findMailed(db: Db, token: TrackingToken): Promise<Mailed | undefined> {
  const [row] = await db<Mailed[]>`
    select company_id, id as email_id, recipient
    from emails
    where (company_id, id) = (${token.companyId}, ${token.emailId})
      and is_marketing
      and substring(sha256(secret || decode(${token.tail}, 'hex')) for 18) = decode(${token.mac}, 'hex')
  `
  return row
}
