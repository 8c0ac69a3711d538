import { type Db, sql } from '../../db/connect.ts'
import { inputRows } from '../../db/input-rows.ts'
import type { Usage, UsageKey } from './usage.ts'

/** Adds usage. Each session writes its own rows, see `conversation_counts`. */
export async function addUsage(tx: Db, totals: readonly (UsageKey & Usage)[]): Promise<void> {
  if (totals.length === 0) return
  const input = inputRows(totals, {
    bigint: ['companyId', 'senderId', 'sent', 'delivered', 'read', 'failed', 'billable'],
    date: ['day'],
    text: ['category', 'template'],
  })
  await tx`
    insert into message_usage as existing (
      company_id, day, sender_id, category, template, sent, delivered, read, failed, billable
    )
    select company_id, day, sender_id, category, template, sent, delivered, read, failed, billable
    from ${input}
    -- Locked in the same order everywhere.
    order by company_id, day, sender_id, category, template
    on conflict (company_id, day, sender_id, category, template, writer) do update set
      sent = existing.sent + excluded.sent,
      delivered = existing.delivered + excluded.delivered,
      read = existing.read + excluded.read,
      failed = existing.failed + excluded.failed,
      billable = existing.billable + excluded.billable
  `
}

export type UsageGroup = 'day' | 'number' | 'category' | 'template'
export type GroupedUsage = Usage & { value: string | number | null }

/** Reads usage by group; both days are included. */
export function readUsage(
  db: Db,
  companyId: number,
  { from, to, groupBy }: { from: string; to: string; groupBy: UsageGroup },
): Promise<GroupedUsage[]> {
  const value = {
    day: sql`to_char(day, 'YYYY-MM-DD')`,
    number: sql`sender_id`,
    category: sql`category`,
    template: sql`nullif(template, '')`,
  }[groupBy]
  return db<GroupedUsage[]>`
    select ${value} as value, sum(sent)::bigint as sent, sum(delivered)::bigint as delivered, sum(read)::bigint as read,
      sum(failed)::bigint as failed, sum(billable)::bigint as billable
    from message_usage
    where company_id = ${companyId} and day between ${from}::date and ${to}::date
    group by 1
    having sum(sent) + sum(failed) + sum(billable) > 0
    order by 1
  `
}
