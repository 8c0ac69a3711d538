import type { Db } from '../db/connect.ts'
import type { ProviderName } from '../providers/provider.ts'

/** The sender that an event is about, as far as handling events needs it. */
export type RoutedSender = {
  companyId: number
  id: number
  provider: ProviderName
  phone: string
  phoneName: string
  phoneNumberId: string
  wabaAccountId: string
}

/** The senders behind the provider's number ids. */
export function findSendersByNumber(db: Db, phoneNumberIds: readonly string[]): Promise<RoutedSender[]> {
  return db<RoutedSender[]>`
    select
      sender.company_id, sender.id, sender.provider, sender.phone, sender.phone_name,
      sender.phone_number_id, sender.waba_account_id
    from sender_routes route
    join senders sender
      on (sender.company_id, sender.id) = (route.company_id, route.sender_id)
    where route.phone_number_id = any(${phoneNumberIds as string[]})
  `
}

/** The senders on the providers' business accounts: of several companies where an account is shared. */
export function findSendersByAccount(db: Db, wabaAccountIds: readonly string[]): Promise<RoutedSender[]> {
  return db<RoutedSender[]>`
    select
      sender.company_id, sender.id, sender.provider, sender.phone, sender.phone_name,
      sender.phone_number_id, sender.waba_account_id
    from senders sender
    where sender.waba_account_id = any(${wabaAccountIds as string[]}) and sender.deleted_at is null
  `
}

/** The app secrets, still encrypted, of the senders that carry one: a body about such a sender must be signed. */
export function findAppSecrets(
  db: Db,
  ids: readonly string[],
): Promise<{ phoneNumberId: string; wabaAccountId: string; appSecret: string }[]> {
  return db`
    select phone_number_id, waba_account_id, app_secret
    from senders
    where app_secret is not null
      and deleted_at is null
      and (phone_number_id = any(${ids as string[]}) or waba_account_id = any(${ids as string[]}))
  `
}

/** Whether any connected sender carries an app secret. */
export async function hasAppSecret(db: Db): Promise<boolean> {
  const rows = await db`select from senders where app_secret is not null and deleted_at is null limit 1`
  return rows.length > 0
}
