import { type Db, sql } from '../db/connect.ts'
import type { SenderRecord } from './sender.ts'

/** A sender as it is kept: its secrets are sealed. */
export type SenderRow = Omit<SenderRecord, 'hasWebhookSecret'> & {
  readonly accessToken: string
  readonly appSecret: string | null
  readonly webhookSecret: string | null
}
/** The values that the operator sets; the provider reports whether the terms for marketing are signed. */
export type SenderValues = Omit<SenderRow, 'id' | 'isPreferred' | 'createdAt' | 'marketingTermsSigned'>

const columns = sql`
  id, provider, phone_number, phone, phone_name, phone_number_id, waba_account_id, portfolio_id, access_token, app_secret,
  webhook_secret, api_base_url, app_id, app_name, is_preferred, tier, daily_limit, throughput_per_second,
  is_shared_with_app, marketing_address, marketing_terms_signed, direct_send, created_at`

/**
 * Holds the company until the transaction ends, so that changes of its senders happen one after another.
 * False when it does not exist. `no key update` lets rows that refer to the company be written meanwhile.
 */
export async function lockCompany(tx: Db, companyId: number): Promise<boolean> {
  const locked = await tx`
    select 1
    from companies
    where id = ${companyId}
      and deleted_at is null
    for no key update`
  return locked.count > 0
}

/** The company's living senders, oldest first. */
export const selectSenders = (db: Db, companyId: number): Promise<SenderRow[]> => db<SenderRow[]>`
  select ${columns}
  from senders
  where company_id = ${companyId}
    and deleted_at is null
  order by id`

/** Undefined when the company has no connected number with this id. */
export async function findSender(db: Db, companyId: number, senderId: number): Promise<SenderRow | undefined> {
  const [row] = await db<SenderRow[]>`
    select ${columns}
    from senders
    where company_id = ${companyId}
      and id = ${senderId}
      and deleted_at is null`
  return row
}

/** The connected number with this id, locked until the transaction ends; undefined when the company has none. */
export async function lockSender(tx: Db, companyId: number, senderId: number): Promise<SenderRow | undefined> {
  const [row] = await tx<SenderRow[]>`
    select ${columns}
    from senders
    where company_id = ${companyId}
      and id = ${senderId}
      and deleted_at is null
    for no key update`
  return row
}

/**
 * One page of what the company may see of its senders, of all or of those with ids above `after`; how many there are in all; and
 * the id after which the next page begins, null on the last page.
 */
export async function selectSenderPage(
  db: Db,
  companyId: number,
  { limit, offset, after = 0 }: { limit: number; offset: number; after?: number | undefined },
): Promise<{ rows: SenderRow[]; total: number; next: number | null }> {
  const [found, counted] = await Promise.all([
    db<SenderRow[]>`
      select ${columns}
      from senders
      where company_id = ${companyId}
        and deleted_at is null
        and id > ${after}
      order by id
      limit ${limit + 1}
      offset ${offset}`,
    db<[{ total: number }]>`
      select count(*) as total
      from senders
      where company_id = ${companyId}
        and deleted_at is null`,
  ])
  const rows = found.slice(0, limit)
  return { rows, total: counted[0].total, next: found.length > limit ? (rows.at(-1)?.id ?? null) : null }
}

/** Inserts a sender that is not preferred, with its empty daily-limit ledger. */
export async function insertSender(tx: Db, companyId: number, values: SenderValues): Promise<SenderRow> {
  const [row] = await tx<[SenderRow]>`
    insert into senders (
      company_id, provider, phone_number, phone, phone_name, phone_number_id, waba_account_id,
      access_token, app_secret, webhook_secret, api_base_url, app_id, app_name, tier, daily_limit,
      throughput_per_second, is_shared_with_app, portfolio_id, marketing_address, direct_send
    )
    values (
      ${companyId}, ${values.provider}, ${values.phoneNumber}, ${values.phone}, ${values.phoneName},
      ${values.phoneNumberId}, ${values.wabaAccountId}, ${values.accessToken}, ${values.appSecret},
      ${values.webhookSecret}, ${values.apiBaseUrl}, ${values.appId}, ${values.appName}, ${values.tier},
      ${values.dailyLimit}, ${values.throughputPerSecond}, ${values.isSharedWithApp}, ${values.portfolioId},
      ${values.marketingAddress}, ${values.directSend}
    )
    returning ${columns}`
  await tx`
    insert into sender_limits (company_id, sender_id)
    values (${companyId}, ${row.id})`
  return row
}

/** Ends the removal of the sender that the company removed last under this number id; undefined when there is none. */
export async function restoreSender(tx: Db, companyId: number, phoneNumberId: string): Promise<SenderRow | undefined> {
  const [row] = await tx<SenderRow[]>`
    update senders
    set deleted_at = null,
        connected_at = now(),
        updated_at = now()
    where company_id = ${companyId}
      and id = (
        select id
        from senders
        where company_id = ${companyId}
          and phone_number_id = ${phoneNumberId}
          and deleted_at is not null
        order by deleted_at desc, id desc
        limit 1
      )
    returning ${columns}`
  return row
}

/** Writes all values of a sender; the terms that were signed are those of its account. The caller has locked it in this transaction. */
export async function updateSenderRow(
  tx: Db,
  companyId: number,
  senderId: number,
  values: SenderValues,
): Promise<void> {
  await tx`
    update senders
    set provider = ${values.provider},
        phone_number = ${values.phoneNumber},
        phone = ${values.phone},
        phone_name = ${values.phoneName},
        phone_number_id = ${values.phoneNumberId},
        waba_account_id = ${values.wabaAccountId},
        portfolio_id = ${values.portfolioId},
        access_token = ${values.accessToken},
        app_secret = ${values.appSecret},
        webhook_secret = ${values.webhookSecret},
        api_base_url = ${values.apiBaseUrl},
        app_id = ${values.appId},
        app_name = ${values.appName},
        tier = ${values.tier},
        daily_limit = ${values.dailyLimit},
        throughput_per_second = ${values.throughputPerSecond},
        is_shared_with_app = ${values.isSharedWithApp},
        marketing_address = ${values.marketingAddress},
        marketing_terms_signed = marketing_terms_signed and waba_account_id = ${values.wabaAccountId},
        marketing_terms_at = case when waba_account_id = ${values.wabaAccountId} then marketing_terms_at end,
        direct_send = ${values.directSend},
        updated_at = now()
    where company_id = ${companyId}
      and id = ${senderId}
      and deleted_at is null`
}

/** From now on events find the sender by its present number id, account and app. */
export async function markConnected(tx: Db, companyId: number, senderId: number): Promise<void> {
  await tx`
    update senders
    set connected_at = now()
    where company_id = ${companyId}
      and id = ${senderId}
      and deleted_at is null`
}

/** Makes one living sender the preferred one. Two statements: the index allows no two at any moment. */
export async function preferSender(tx: Db, companyId: number, senderId: number): Promise<void> {
  await tx`
    update senders
    set is_preferred = false,
        updated_at = now()
    where company_id = ${companyId}
      and is_preferred
      and id <> ${senderId}`
  await tx`
    update senders
    set is_preferred = true,
        updated_at = now()
    where company_id = ${companyId}
      and id = ${senderId}
      and deleted_at is null
      and not is_preferred`
}

/** The oldest living sender becomes the preferred one when none is. */
export async function preferOldestSender(tx: Db, companyId: number): Promise<void> {
  await tx`
    update senders
    set is_preferred = true,
        updated_at = now()
    where company_id = ${companyId}
      and id = (
        select min(id)
        from senders
        where company_id = ${companyId}
          and deleted_at is null
        having not bool_or(is_preferred)
      )`
}

/** Marks a sender as removed; false when the company has no such connected number. */
export async function markSenderRemoved(tx: Db, companyId: number, senderId: number): Promise<boolean> {
  const removed = await tx`
    update senders
    set deleted_at = now(),
        updated_at = now(),
        is_preferred = false
    where company_id = ${companyId}
      and id = ${senderId}
      and deleted_at is null`
  return removed.count > 0
}

/** Disconnects every number of a company, so that its events are routed to it no longer. */
export async function markAllSendersRemoved(tx: Db, companyId: number): Promise<void> {
  await tx`
    update senders
    set deleted_at = now(),
        updated_at = now(),
        is_preferred = false
    where company_id = ${companyId}
      and deleted_at is null`
  await tx`
    delete from sender_routes
    where company_id = ${companyId}`
}

/** Routes events of the provider's number id to a sender; false when a sender of any company has that id already. */
export async function insertRoute(
  tx: Db,
  companyId: number,
  senderId: number,
  phoneNumberId: string,
): Promise<boolean> {
  const inserted = await tx`
    insert into sender_routes (phone_number_id, company_id, sender_id)
    values (${phoneNumberId}, ${companyId}, ${senderId})
    on conflict (phone_number_id) do nothing`
  return inserted.count > 0
}

/** Ends the routing of events to this sender. */
export async function deleteRoute(tx: Db, companyId: number, senderId: number): Promise<void> {
  await tx`
    delete from sender_routes
    where company_id = ${companyId}
      and sender_id = ${senderId}`
}
