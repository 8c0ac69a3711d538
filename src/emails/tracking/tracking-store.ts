import type { ChangeOf, RecordChange } from '../../changes/record-change.ts'
import { type Db, jsonRows, type Result } from '../../db/connect.ts'
import { inputRows } from '../../db/input-rows.ts'
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

type Key = { readonly companyId: number; readonly id: number }
type State = Key & { status: string; isOpened: boolean; isClicked: boolean }

/** Reads states; the result returns later changes. Without locks: transactions may see one twice; event ids dedupe. */
export async function watchEmails(tx: Db, emails: readonly Key[]): Promise<() => Promise<RecordChange[]>> {
  if (emails.length === 0) return async () => []
  const read = () => tx<State[]>`
    select distinct
      emails.company_id, emails.id, emails.status, emails.open_count > 0 as is_opened, emails.click_count > 0 as is_clicked
    from ${inputRows(emails, { bigint: ['companyId', 'id'] }, 'watched')}
    join emails on (emails.company_id, emails.id) = (watched.company_id, watched.id)
    order by emails.company_id, emails.id
  `
  const earlier = new Map((await read()).map((state) => [keyOf(state), state]))
  return async () => (await read()).flatMap((state) => changesOf(earlier.get(keyOf(state)), state))
}

const keyOf = ({ companyId, id }: Key): string => `${companyId} ${id}`

function changesOf(before: State | undefined, { companyId, id, ...after }: State): RecordChange[] {
  if (before === undefined) return []
  const changes: ChangeOf<'email.status'>['change'][] = []
  if (after.status !== before.status && (after.status === 'sent' || after.status === 'failed'))
    changes.push(after.status)
  if (after.isOpened && !before.isOpened) changes.push('opened')
  if (after.isClicked && !before.isClicked) changes.push('clicked')
  return changes.map((change) => ({ event: 'email.status', companyId, id, change }))
}
