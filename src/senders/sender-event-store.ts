import type { Db } from '../db/connect.ts'

/** A number's new limit, as its provider reports it. */
export type NumberLimit = {
  companyId: number
  wabaAccountId: string
  /** Digits of the number; null concerns every number of the account. All numbers of a portfolio share a limit. */
  phone: string | null
  /** Distinct customers per rolling day; null: unlimited. */
  dailyLimit: number | null
  /** By the provider's clock. */
  at: Date
}

/** Whether an account has signed the terms for marketing messages. */
export type MarketingTerms = {
  companyId: number
  wabaAccountId: string
  isSigned: boolean
  /** By the provider's clock. */
  at: Date
}

/** Applies what the provider reports about the terms of accounts, unless something newer is known. */
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

/**
 * Applies the provider's limits. An explicit limit replaces the tier, whose ladder the provider has left. An event that is
 * older than the one that set a number's limit does not change it.
 */
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
