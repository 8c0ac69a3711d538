import type { Db } from '../db/connect.ts'

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
