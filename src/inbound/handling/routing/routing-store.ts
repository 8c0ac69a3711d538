import { type Db, jsonRows, sql } from '../../../db/connect.ts'
import type { ProviderName } from '../../../providers/provider-name.ts'

export type RoutedSender = {
  companyId: number
  id: number
  provider: ProviderName
  phone: string
  phoneName: string
  phoneNumberId: string
  wabaAccountId: string
  /** Whether any receiver is active; without one no envelope is needed. */
  hasReceivers: boolean
  /** Events received before this must prove the secrets; null without secrets. */
  proofUntil: Date | null
}

const columns = sql`
  sender.company_id, sender.id, sender.provider, sender.phone, sender.phone_name, sender.phone_number_id,
  sender.waba_account_id, sender.has_receivers, sender.proof_until
`

/** Finds senders by provider number id. */
export function findSendersByNumber(db: Db, phoneNumberIds: readonly string[]): Promise<RoutedSender[]> {
  return db<RoutedSender[]>`select ${columns} from find_senders(${phoneNumberIds as string[]}::text[]) as sender`
}

/** Finds senders by business account, possibly shared by several companies. */
export function findSendersByAccount(db: Db, wabaAccountIds: readonly string[]): Promise<RoutedSender[]> {
  return db<RoutedSender[]>`
    select ${columns}
    from routed_senders sender
    where sender.waba_account_id = any(${wabaAccountIds as string[]}) and sender.deleted_at is null
  `
}

/** Finds senders by app id or app name. */
export function findSendersByApp(db: Db, apps: readonly string[]): Promise<(RoutedSender & { app: string })[]> {
  return db<(RoutedSender & { app: string })[]>`
    select ${columns}, named.app
    from unnest(${apps as string[]}::text[]) as named (app)
    join routed_senders sender on sender.app_id = named.app or sender.app_name = named.app
    where sender.deleted_at is null
  `
}

export type SenderSecrets = {
  companyId: number
  phoneNumberId: string
  wabaAccountId: string
  appId: string | null
  appName: string | null
  appSecret: string | null
  webhookSecret: string | null
}

/** Finds senders with secrets by number, account or app. */
export function findSecrets(db: Db, ids: readonly string[]): Promise<SenderSecrets[]> {
  return db<SenderSecrets[]>`
    select company_id, phone_number_id, waba_account_id, app_id, app_name, app_secret, webhook_secret
    from senders
    where (app_secret is not null or webhook_secret is not null)
      and deleted_at is null
      and (
        phone_number_id = any(${ids as string[]})
        or waba_account_id = any(${ids as string[]})
        or app_id = any(${ids as string[]})
        or app_name = any(${ids as string[]})
      )
  `
}

/** Returns encrypted secrets for these senders; omits unknown senders. */
export function findSecretsOf(
  db: Db,
  senders: readonly { companyId: number; id: number }[],
): Promise<{ companyId: number; id: number; appSecret: string | null; webhookSecret: string | null }[]> {
  const rows = senders.map(({ companyId, id }) => ({ company_id: companyId, id }))
  return db`
    select sender.company_id, sender.id, sender.app_secret, sender.webhook_secret
    from jsonb_to_recordset(${jsonRows(db, rows)}) as requested (company_id bigint, id bigint)
    join senders sender on (sender.company_id, sender.id) = (requested.company_id, requested.id)
  `
}

/** Returns encrypted secrets for connected senders on these accounts. */
export function findSecretsOfAccounts(
  db: Db,
  accounts: readonly { companyId: number; wabaAccountId: string }[],
): Promise<{ companyId: number; wabaAccountId: string; appSecret: string | null; webhookSecret: string | null }[]> {
  const rows = accounts.map(({ companyId, wabaAccountId }) => ({
    company_id: companyId,
    waba_account_id: wabaAccountId,
  }))
  return db`
    select distinct sender.company_id, sender.waba_account_id, sender.app_secret, sender.webhook_secret
    from jsonb_to_recordset(${jsonRows(db, rows)}) as requested (company_id bigint, waba_account_id text)
    join senders sender on (sender.company_id, sender.waba_account_id) = (requested.company_id, requested.waba_account_id)
    where (sender.app_secret is not null or sender.webhook_secret is not null) and sender.deleted_at is null
  `
}

/** Returns whether any connected sender has a secret. */
export async function hasSecret(db: Db): Promise<boolean> {
  const rows = await db`
    (select from senders where app_secret is not null and deleted_at is null limit 1)
    union all
    (select from senders where webhook_secret is not null and deleted_at is null limit 1)
  `
  return rows.length > 0
}
