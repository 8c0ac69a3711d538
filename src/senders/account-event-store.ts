import { type Db, type Json, sql } from '../db/connect.ts'
import { inputRows } from '../db/input-rows.ts'

export type AccountEvent = {
  companyId: number
  wabaAccountId: string
  senderId: number | null
  field: string
  event: string | null
  severity: 'info' | 'warning' | 'critical'
  details: Json | null
  /** Identifies repeated events. */
  digest: Buffer
  occurredAt: Date | null
}

/** Events beyond this limit per company are only counted. */
export const EVENTS_PER_HOUR = 1_000

/** Appends to the journal; returns the new events. */
export async function recordAccountEvents(tx: Db, events: readonly AccountEvent[]): Promise<AccountEvent[]> {
  if (events.length === 0) return []
  const rows = events.map((event, ord) => ({ ...event, ord, digest: event.digest.toString('hex') }))
  const added = await tx<{ companyId: number; digest: Buffer }[]>`
    insert into account_events (
      company_id, waba_account_id, sender_id, field, event, severity, details, digest, occurred_at
    )
    select
      input.company_id, input.waba_account_id, input.sender_id, input.field, input.event, input.severity,
      input.details, decode(input.digest, 'hex'), input.occurred_at
    from ${inputRows(rows, {
      integer: ['ord'],
      bigint: ['companyId', 'senderId'],
      text: ['wabaAccountId', 'field', 'event', 'severity', 'digest'],
      jsonb: ['details'],
      timestamptz: ['occurredAt'],
    })}
    cross join lateral (
      select count(*) as events
      from (
        select
        from account_events recent
        where recent.company_id = input.company_id and recent.received_at > now() - interval '1 hour'
        limit ${EVENTS_PER_HOUR}
      ) as recent
    ) as recent
    where recent.events < ${EVENTS_PER_HOUR}
    order by input.ord
    on conflict do nothing
    returning company_id, digest
  `
  const isAdded = new Set(added.map(({ companyId, digest }) => `${companyId} ${digest.toString('hex')}`))
  return events.filter(({ companyId, digest }) => isAdded.delete(`${companyId} ${digest.toString('hex')}`))
}

export type AccountEventRow = Omit<AccountEvent, 'digest'> & { id: number; receivedAt: Date }

/** Lists events, newest first; a null company (operator) means all. */
export const listAccountEvents = (
  db: Db,
  companyId: number | null,
  { before, limit }: { before: number | undefined; limit: number },
): Promise<AccountEventRow[]> => db<AccountEventRow[]>`
  select id, company_id, waba_account_id, sender_id, field, event, severity, details, occurred_at, received_at
  from account_events
  where ${companyId === null ? sql`true` : sql`company_id = ${companyId}`}
    and ${before === undefined ? sql`true` : sql`id < ${before}`}
  order by id desc
  limit ${limit}
`

export type NumberLimit = {
  companyId: number
  wabaAccountId: string
  /** Digits; null means every number of the account. Numbers of a portfolio share the limit. */
  phone: string | null
  dailyLimit: number | null
  at: Date
}

export type MarketingTerms = {
  companyId: number
  wabaAccountId: string
  isSigned: boolean
  at: Date
}

/** Updates the marketing terms of accounts, unless a newer report is known. */
export async function applyMarketingTerms(tx: Db, reports: readonly MarketingTerms[]): Promise<void> {
  for (const { companyId, wabaAccountId, isSigned, at } of reports) {
    await tx`
      update senders
      set marketing_terms_signed = ${isSigned}, marketing_terms_at = ${at}
      where company_id = ${companyId}
        and waba_account_id = ${wabaAccountId}
        and deleted_at is null
        and (marketing_terms_at is null or marketing_terms_at <= ${at})
    `
  }
}

/** Updates limits, unless a newer event is known. An explicit limit replaces the tier. */
export async function applyNumberLimits(tx: Db, limits: readonly NumberLimit[]): Promise<void> {
  for (const limit of limits) {
    await tx`
      with named as materialized (
        select id, portfolio_id
        from senders
        where company_id = ${limit.companyId}
          and waba_account_id = ${limit.wabaAccountId}
          and (${limit.phone}::text is null or phone = ${limit.phone})
          and deleted_at is null
      )
      update senders
      set
        daily_limit = ${limit.dailyLimit},
        tier = ${limit.dailyLimit === null ? 4 : null},
        limit_at = ${limit.at},
        updated_at = now()
      where company_id = ${limit.companyId}
        and (id in (select id from named) or portfolio_id in (select portfolio_id from named))
        and deleted_at is null
        and (limit_at is null or limit_at <= ${limit.at})
    `
  }
}
