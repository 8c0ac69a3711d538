import type { Db } from '../db/connect.ts'

export type EmailSettingsRow = { fromAddress: string; fromName: string | null; smtpUrl: string | null }

export async function findEmailSettings(db: Db, companyId: number): Promise<EmailSettingsRow | undefined> {
  const [row] = await db<EmailSettingsRow[]>`
    select from_address, from_name, smtp_url
    from email_settings
    where company_id = ${companyId}
  `
  return row
}

/** Locks the settings until the transaction ends. */
export async function lockEmailSettings(tx: Db, companyId: number): Promise<EmailSettingsRow | undefined> {
  const [row] = await tx<EmailSettingsRow[]>`
    select from_address, from_name, smtp_url
    from email_settings
    where company_id = ${companyId}
    for no key update
  `
  return row
}

/** Replaces all settings; the caller must encrypt `smtpUrl`. */
export async function writeEmailSettings(db: Db, companyId: number, row: EmailSettingsRow): Promise<void> {
  await db`
    insert into email_settings (company_id, from_address, from_name, smtp_url)
    values (${companyId}, ${row.fromAddress}, ${row.fromName}, ${row.smtpUrl})
    on conflict (company_id) do update set
      from_address = excluded.from_address,
      from_name = excluded.from_name,
      smtp_url = excluded.smtp_url,
      updated_at = now()
  `
}
