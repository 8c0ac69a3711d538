import { type Db, jsonRows, type Result } from '../../db/connect.ts'
import type { TrackingToken } from './tracking-token.ts'

export type Fetch = {
  token: TrackingToken
  /** False: only looked up. */
  isCounted: boolean
  isMachine: boolean
}

/** The mail and link of a token; `target` is null if it is no link. */
export type Found = { target: string | null }

type RecordedFetches = { targets: Record<string, string | null> }

/** Records fetches of tracked addresses; `toFound` reads the answer. When it answers, the counts are kept. */
export function recordFetches(db: Db, fetches: readonly Fetch[]): Result<RecordedFetches[]> {
  const items = fetches.map(({ token, isCounted, isMachine }) => ({
    company_id: token.companyId,
    email_id: token.emailId,
    link: token.link,
    tail: token.tail,
    mac: token.mac,
    counted: isCounted,
    machine: isMachine,
  }))
  return db<RecordedFetches[]>`select record_email_fetches(${jsonRows(db, items)}) as targets`
}

/** What each fetch leads to; undefined when its token is not ours. */
export function toFound(fetches: readonly Fetch[], [row]: readonly RecordedFetches[]): (Found | undefined)[] {
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
      and substring(sha256(secret || decode(${token.tail}, 'hex')) for 18) = decode(${token.mac}, 'hex')
  `
  return row
}
