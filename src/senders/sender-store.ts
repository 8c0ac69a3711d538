import { type Db, sql } from '../db/connect.ts'
import type { ProviderName } from '../providers/provider-name.ts'

/** `auto`: the provider's marketing address once the account has signed the terms, else like all other messages. */
export const MARKETING_ADDRESSES = ['auto', 'marketing', 'messages'] as const
export type MarketingAddress = (typeof MARKETING_ADDRESSES)[number]

/** Secrets are sealed. */
export type SenderRow = {
  readonly id: number
  readonly provider: ProviderName
  readonly phoneNumber: string
  readonly phone: string
  readonly phoneName: string
  readonly phoneNumberId: string
  readonly wabaAccountId: string
  readonly portfolioId: string | null
  readonly accessToken: string
  readonly appSecret: string | null
  /** Must accompany events of a provider that doesn't sign. */
  readonly webhookSecret: string | null
  readonly apiBaseUrl: string | null
  readonly appId: string | null
  readonly appName: string | null
  readonly isPreferred: boolean
  readonly tier: number | null
  /** Set by the operator; null: the tier decides. */
  readonly dailyLimit: number | null
  /** Messages per second, set by the operator; null: the provider's usual limit. */
  readonly throughputPerSecond: number | null
  readonly isSharedWithApp: boolean
  readonly marketingAddress: MarketingAddress
  readonly marketingTermsSigned: boolean
  /** The account may write outside the window without a template. */
  readonly directSend: boolean
  readonly createdAt: Date
}
export type SenderValues = Omit<SenderRow, 'id' | 'isPreferred' | 'createdAt' | 'marketingTermsSigned'>

const columns = sql`
  id, provider, phone_number, phone, phone_name, phone_number_id, waba_account_id, portfolio_id, access_token, app_secret,
  webhook_secret, api_base_url, app_id, app_name, is_preferred, tier, daily_limit, throughput_per_second,
  is_shared_with_app, marketing_address, marketing_terms_signed, direct_send, created_at`

/** Serializes changes of a company's senders; false if unknown. `no key update` still allows writes of rows that refer to it. */
export async function lockCompany(tx: Db, companyId: number): Promise<boolean> {
  const locked = await tx`
    select 1
    from companies
    where id = ${companyId}
      and deleted_at is null
    for no key update`
  return locked.count > 0
}

export const selectSenders = (db: Db, companyId: number): Promise<SenderRow[]> => db<SenderRow[]>`
  select ${columns}
  from senders
  where company_id = ${companyId}
    and deleted_at is null
  order by id`

export async function findSender(db: Db, companyId: number, senderId: number): Promise<SenderRow | undefined> {
  const [row] = await db<SenderRow[]>`
    select ${columns}
    from senders
    where company_id = ${companyId}
      and id = ${senderId}
      and deleted_at is null`
  return row
}

/** Locks a connected number until the transaction ends. */
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

/** Returns a page, after an id or by offset, with the total count and the next cursor (null on the last page). */
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

/** Inserts a sender, not preferred, with an empty daily-limit ledger. */
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

/** Restores the last removed sender with this number id; undefined if none. */
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

/** Updates all values; a new account resets the signed terms. The caller must hold the sender lock. */
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

/** From now on, events find the sender by its current number id, account and app. */
export async function markConnected(tx: Db, companyId: number, senderId: number): Promise<void> {
  await tx`
    update senders
    set connected_at = now()
    where company_id = ${companyId}
      and id = ${senderId}
      and deleted_at is null`
}

/** Prefers a sender, in two statements: the unique index never allows two. */
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

/** Prefers the oldest living sender if none is preferred. */
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

/** Marks a sender as removed; returns false if unknown. */
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

/** Removes every sender of a company and the event routes. */
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

/** Routes the number's events to a sender; returns false if any company has this number id already. */
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

export async function deleteRoute(tx: Db, companyId: number, senderId: number): Promise<void> {
  await tx`
    delete from sender_routes
    where company_id = ${companyId}
      and sender_id = ${senderId}`
}
