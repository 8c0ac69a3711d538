import { type Db, jsonRows, sql } from '../db/connect.ts'
import { storedKeys, storedMailbox } from '../platform/text/email-address.ts'
import { recipientMailbox } from './email-keys.ts'
import type { Tracking } from './tracking/tracking.ts'

export type AcceptedEmail = {
  companyId: number
  uid: string
  templateId: number | null
  recipient: string
  subject: string
  /** With angle brackets. */
  messageId: string
  secret: Buffer
  isMarketing: boolean
  fromAddress: string
  fromName: string | null
  replyTo: string | null
  html: string
  text: string | null
  headers: Readonly<Record<string, string>>
  trackOpens: boolean
  trackClicks: boolean
  /** Tracked parts of the HTML, found once for all attempts. */
  tracking: Tracking
  /** The answer to keep for the Idempotency-Key. */
  answer: { idempotencyId: number; status: number; body: string } | null
}

export const EMAIL_SEND = 'email.send'

/** Accepts emails with their jobs. Returns false for an email whose Idempotency-Key was released or claimed by a repeat. */
export async function insertEmails(db: Db, emails: readonly AcceptedEmail[]): Promise<boolean[]> {
  const items = emails.map((email) => ({
    company_id: email.companyId,
    uid: email.uid,
    template_id: email.templateId,
    recipient: email.recipient,
    recipient_key: storedMailbox(email.recipient),
    subject: email.subject,
    message_id: email.messageId,
    secret: email.secret.toString('hex'),
    is_marketing: email.isMarketing,
    from_address: email.fromAddress,
    from_name: email.fromName,
    reply_to: email.replyTo,
    html: email.html,
    text: email.text,
    headers: email.headers,
    track_opens: email.trackOpens,
    track_clicks: email.trackClicks,
    tracking: email.tracking,
    idempotency_id: email.answer?.idempotencyId ?? null,
    answer_status: email.answer?.status ?? null,
    answer_body: email.answer?.body ?? null,
  }))
  const rows = await db<{ uid: string }[]>`select uid from insert_emails(${jsonRows(db, items)})`
  const accepted = new Set(rows.map(({ uid }) => uid))
  return emails.map(({ uid }) => accepted.has(uid))
}

export type EmailStatus = 'pending' | 'sent' | 'failed' | 'bounced'

export type EmailRecord = {
  uid: string
  status: EmailStatus
  recipient: string
  subject: string
  createdAt: Date
  openCount: number
  machineOpenCount: number
  firstOpenAt: Date | null
  clickCount: number
  machineClickCount: number
  firstClickAt: Date | null
  failureReason: string | null
  bouncedAt: Date | null
  complainedAt: Date | null
}

const recordColumns = sql`
  uid, status, recipient, subject, created_at, open_count, machine_open_count, first_open_at, click_count,
  machine_click_count, first_click_at, failure_reason, bounced_at, complained_at
`

export const listEmailsByIds = (
  db: Db,
  companyId: number,
  ids: readonly number[],
): Promise<(EmailRecord & { id: number })[]> =>
  db<(EmailRecord & { id: number })[]>`
    select id, ${recordColumns}
    from emails
    where company_id = ${companyId} and id = any (${[...ids]}::bigint[])
  `

/** Lists emails to a lower-case address before an id, newest first. */
export const listEmailsTo = (
  db: Db,
  companyId: number,
  address: string,
  beforeId: number,
  limit: number,
): Promise<(EmailRecord & { id: number })[]> =>
  db<(EmailRecord & { id: number })[]>`
    select id, ${recordColumns}
    from emails
    where company_id = ${companyId} and ${recipientMailbox} = any (${storedKeys(address)}::text[]) and id < ${beforeId}
    order by id desc
    limit ${limit}
  `

/** Finds one email. The cost does not depend on its opens and clicks. */
export async function findEmail(db: Db, companyId: number, uid: string): Promise<EmailRecord | undefined> {
  const [email] = await db<EmailRecord[]>`
    select ${recordColumns}
    from emails
    where (company_id, uid) = (${companyId}, ${uid})
  `
  return email
}
