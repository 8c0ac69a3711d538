import { type Db, jsonRows, type Result } from '../../db/connect.ts'
import { inputRows, placedRows } from '../../db/input-rows.ts'
import type { Claim } from '../../queue/job.ts'
import type { EmailStatus } from '../email-store.ts'
import type { Tracking } from '../tracking/tracking.ts'

export type EmailKey = { companyId: number; id: number }

export type EmailToSend = EmailKey & {
  status: EmailStatus
  recipient: string
  subject: string
  messageId: string
  secret: Buffer
  isMarketing: boolean
  submittedAt: Date | null
  createdAt: Date
  fromAddress: string
  fromName: string | null
  replyTo: string | null
  html: string
  text: string | null
  headers: Record<string, string>
  trackOpens: boolean
  trackClicks: boolean
  /** Null: accepted by an older Parley, which stored this differently or not at all. */
  tracking: Tracking | null
  smtpUrl: string | null
}

const keyOf = ({ companyId, id }: EmailKey): string => `${companyId}:${id}`

/** Per statement, or one larger mail: bounds memory. */
const READ_BYTES = 1_000_000

/** Reads a prefix of `keys`, up to `READ_BYTES` but never empty; undefined for missing or completed mails. */
export async function readEmailsToSend(db: Db, keys: readonly EmailKey[]): Promise<(EmailToSend | undefined)[]> {
  const rows = await db<(EmailToSend & { isFull: boolean })[]>`
    with sized as materialized (
      select
        requested.place, requested.company_id, requested.id,
        sum(octet_length(contents.html) + coalesce(octet_length(contents.text), 0)) over (order by requested.place) as bytes
      from ${placedRows(keys, { bigint: ['companyId', 'id'] }, 'requested')}
      join emails on (emails.company_id, emails.id) = (requested.company_id, requested.id) and emails.status = 'pending'
      join email_contents contents on (contents.company_id, contents.email_id) = (requested.company_id, requested.id)
    ),
    taken as (
      select sized.*, bytes > ${READ_BYTES} as is_full
      from sized
      where bytes <= ${READ_BYTES} or place = (select min(place) from sized where bytes > ${READ_BYTES})
    )
    select emails.company_id, emails.id, status, recipient, subject, message_id, secret, is_marketing, submitted_at,
      created_at, contents.from_address, contents.from_name, reply_to, html, text, headers, track_opens, track_clicks,
      case when tracking ? 'replacements' then tracking end as tracking, settings.smtp_url, taken.is_full
    from taken
    join emails on (emails.company_id, emails.id) = (taken.company_id, taken.id)
    join email_contents contents on (contents.company_id, contents.email_id) = (taken.company_id, taken.id)
    left join email_settings settings on settings.company_id = taken.company_id
    order by taken.place
  `
  const found = new Map(rows.map((row) => [keyOf(row), row]))
  const emails = keys.map((key) => found.get(keyOf(key)))
  return emails.slice(0, emails.findIndex((email) => email?.isFull) + 1 || emails.length)
}

export type Submission = EmailKey & { targets: readonly string[] }

/** Marks mails as submitted and stores their link targets. Returns true for exactly one attempt until it completes. */
export async function markSubmitted(db: Db, items: readonly Submission[]): Promise<boolean[]> {
  const found = await db<EmailKey[]>`
    with item as materialized (
      select distinct on (input.company_id, input.id) input.*
      from ${inputRows(items, { bigint: ['companyId', 'id'], 'text[]': ['targets'] })}
      order by input.company_id, input.id
    ),
    locked as materialized (
      select emails.company_id, emails.id, item.targets
      from item
      join emails on (emails.company_id, emails.id) = (item.company_id, item.id)
      where emails.status = 'pending' and emails.submitted_at is null
      order by emails.company_id, emails.id
      for no key update of emails
    ),
    linked as (
      insert into email_links (company_id, email_id, targets)
      select company_id, id, targets
      from locked
      where targets <> '{}'
      on conflict (company_id, email_id) do update set targets = excluded.targets
    )
    update emails
    set submitted_at = clock_timestamp()
    from locked
    where (emails.company_id, emails.id) = (locked.company_id, locked.id)
    returning emails.company_id, emails.id
  `
  const marked = new Set(found.map(keyOf))
  return items.map((item) => marked.delete(keyOf(item)))
}

export type EmailCompletion = EmailKey & {
  status: EmailStatus
  failureReason: string | null
  job?: Claim
}

/** Records attempt outcomes and completes their jobs; a `pending` mail can be attempted again. */
export function completeEmails(db: Db, completions: readonly EmailCompletion[]): Result {
  const items = completions.map(({ companyId, id, status, failureReason, job }) => ({
    company_id: companyId,
    id,
    status,
    failure_reason: failureReason,
    job_id: job?.id ?? null,
    claim_id: job?.claimId ?? null,
  }))
  return db`select complete_emails(${jsonRows(db, items)})`
}
