import type { RecordEvents } from '../../changes/record-change.ts'
import { type Db, type Pool, sql } from '../../db/connect.ts'
import { suppressionNotFound } from '../../platform/errors.ts'
import { emailKey, storedKeys } from '../../platform/text/email-address.ts'
import type { SuppressionReason } from '../reports/mail-report.ts'

/** Ends the suppression of an address; 404 `Suppression not found`. */
export async function endSuppression(
  { db, recordEvents }: { db: Pool; recordEvents: RecordEvents },
  companyId: number,
  text: string,
): Promise<void> {
  const address = emailKey(text)
  await db.begin(async (tx) => {
    if (!(await deleteSuppression(tx, companyId, address))) throw suppressionNotFound()
    const id = await findSuppressedContact(tx, companyId, address)
    if (id !== undefined) {
      await recordEvents.publish(tx, [{ event: 'contact.changed', companyId, id, change: 'updated' }])
    }
  })
}

/** `address` is lower-case, or the keyed hash of an erased address. */
export type Suppression = { address: string; reason: SuppressionReason; detail: string | null; createdAt: Date }

const formsOf = (companyId: number, address: string) => sql`
  (
    select array_agg(form.address)
    from unnest(${storedKeys(address)}::text[]) as key (address)
    cross join lateral (values (key.address), (keyed_hash(${companyId}, key.address))) as form (address)
  )::text[]
`

/** Returns an address's suppression; a complaint wins over a bounce. */
export async function findSuppression(db: Db, companyId: number, address: string): Promise<Suppression | undefined> {
  const [suppression] = await db<Suppression[]>`
    select address, reason, detail, created_at
    from email_suppressions
    where company_id = ${companyId} and address = any (${formsOf(companyId, address)})
    order by reason desc
    limit 1
  `
  return suppression
}

/** Suppresses a lower-case address, or replaces the reason. */
export async function writeSuppression(
  tx: Db,
  companyId: number,
  { address, reason, detail }: Omit<Suppression, 'createdAt'>,
): Promise<void> {
  await tx`
    insert into email_suppressions (company_id, address, reason, detail)
    values (${companyId}, ${address}, ${reason}, ${detail})
    on conflict (company_id, address) do update set reason = excluded.reason, detail = excluded.detail
    -- Of reports about two mails at once, the complaint stays.
    where email_suppressions.reason <> 'complaint'
  `
}

/** Returns whether the address was suppressed. */
export async function deleteSuppression(tx: Db, companyId: number, address: string): Promise<boolean> {
  const deleted = await tx`
    delete from email_suppressions
    where company_id = ${companyId} and address = any (${formsOf(companyId, address)})
  `
  return deleted.count > 0
}

/** Lists suppressions by address, after the given one. */
export const listSuppressions = (
  db: Db,
  companyId: number,
  { after, limit }: { after: string; limit: number },
): Promise<Suppression[]> =>
  db<Suppression[]>`
    select address, reason, detail, created_at
    from email_suppressions
    where company_id = ${companyId} and address > ${after}
    order by address
    limit ${limit}
  `

/** Replaces an erased address by its keyed hash; throws PostgresError 23502 without a session key. */
export async function eraseSuppression(db: Db, companyId: number, address: string): Promise<void> {
  await db`
    with erased as (
      delete from email_suppressions
      where company_id = ${companyId} and address = any (${storedKeys(address)}::text[])
      returning reason, created_at
    )
    insert into email_suppressions (company_id, address, reason, created_at)
    select ${companyId}, keyed_hash(${companyId}, ${address}), reason, created_at
    from erased
    order by reason desc
    limit 1
    on conflict (company_id, address) do nothing
  `
}

/** Finds the contact changed by this suppression. */
export async function findSuppressedContact(db: Db, companyId: number, address: string): Promise<number | undefined> {
  const [contact] = await db<{ id: number }[]>`
    select id
    from contacts
    where company_id = ${companyId}
      and coalesce(email_key, chr(1114111) || lpad(id::text, 16, '0')) collate "C" = any (${storedKeys(address)}::text[])
      and deleted_at is null
    order by email_key = ${address} desc
    limit 1
  `
  return contact?.id
}

export type MarketingRefusal = 'consent' | SuppressionReason

export const MARKETING_REFUSALS: Record<MarketingRefusal, string> = {
  consent: 'The contact has opted out of email marketing',
  bounce: 'The address is suppressed: a mail to it bounced. The operator can end the suppression',
  complaint: 'The address is suppressed: its owner reported a mail as spam. The operator can end the suppression',
}
