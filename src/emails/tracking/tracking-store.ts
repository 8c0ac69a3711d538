import { type Db, jsonRows, type Result } from '../../db/connect.ts'
import type { TrackingToken } from './tracking-token.ts'

export type Fetch = {
  token: TrackingToken
  isCounted: boolean
  isMachine: boolean
}

export type Found = { target: string | null }

type RecordedFetches = { targets: Record<string, string | null> }

/** Records fetches, committed once resolved; read the result with `toFound`. */
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

export function toFound(fetches: readonly Fetch[], [row]: readonly RecordedFetches[]): (Found | undefined)[] {
  return fetches.map((_, index) => {
    const target = row?.targets[index + 1]
    return target === undefined ? undefined : { target }
  })
}

export type Mailed = { companyId: number; emailId: number; recipient: string }

export async function findMailed(db: Db, token: TrackingToken): Promise<Mailed | undefined> {
  const [row] = await db<Mailed[]>`
    select company_id, id as email_id, recipient
    from emails
    where (company_id, id) = (${token.companyId}, ${token.emailId})
      and substring(sha256(secret || decode(${token.tail}, 'hex')) for 18) = decode(${token.mac}, 'hex')
  `
  return row
}
