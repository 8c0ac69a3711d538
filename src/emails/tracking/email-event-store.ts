import type { ChangeOf, RecordChange } from '../../changes/record-change.ts'
import type { Db } from '../../db/connect.ts'
import { inputRows } from '../../db/input-rows.ts'

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
