import type { Db, Pool } from '../db/connect.ts'
import { type FieldFault, validationError } from '../platform/errors.ts'
import { MAIL_SCHEMES } from '../platform/settings/config.ts'
import { hasRawHash, RAW_HASH } from '../platform/settings/setting-reader.ts'
import type { Cipher } from '../secrets/secrets.ts'
import { addressFaults, lineFaults } from './rendering/header-text.ts'

export type EmailSettings = { from: string; fromName: string | null; smtpUrl: string | null }

export type SettingsDeps = { db: Pool; cipher: Cipher }

/** Returns the company's settings. `smtpUrl` contains the password. */
export async function getEmailSettings(
  deps: { db: Db; cipher: Cipher },
  companyId: number,
): Promise<EmailSettings | undefined> {
  const row = await findEmailSettings(deps.db, companyId)
  return row && { from: row.fromAddress, fromName: row.fromName, smtpUrl: openSmtpUrl(deps.cipher, row) }
}

/** Replaces the settings; 422 lists all bad values. An `smtpUrl` without login keeps the stored login and options. */
export async function setEmailSettings(
  { db, cipher }: SettingsDeps,
  companyId: number,
  settings: EmailSettings,
): Promise<EmailSettings> {
  const faults = emailSettingsFaults(settings)
  if (faults.length > 0) throw validationError(faults)
  return db.begin(async (tx) => {
    const before = await lockEmailSettings(tx, companyId)
    const smtpUrl = withStoredLogin(settings.smtpUrl, before ? openSmtpUrl(cipher, before) : null)
    await writeEmailSettings(tx, companyId, {
      fromAddress: settings.from,
      fromName: settings.fromName,
      smtpUrl: smtpUrl === null ? null : cipher.encrypt(smtpUrl),
    })
    return { ...settings, smtpUrl }
  })
}

/** Returns the faults of well-formed members. */
export const emailSettingsFaults = ({ from, fromName, smtpUrl }: Partial<EmailSettings>): FieldFault[] => [
  ...addressFaults('from', from),
  ...lineFaults('fromName', fromName),
  ...smtpUrlFaults(smtpUrl ?? null),
]

const openSmtpUrl = (cipher: Cipher, { smtpUrl }: EmailSettingsRow): string | null =>
  smtpUrl === null ? null : cipher.decrypt(smtpUrl)

/** Keeps the stored login and options while host, port and user match. */
function withStoredLogin(input: string | null, stored: string | null): string | null {
  const [url, storedUrl] = [input, stored].map((text) => (text === null ? null : URL.parse(text)))
  if (!url || !storedUrl) return input
  const isSameServer = url.hostname === storedUrl.hostname && portOf(url) === portOf(storedUrl)
  const isSameUser = url.username === '' || url.username === storedUrl.username
  if (!isSameServer || !isSameUser || url.password !== '') return input
  url.username = storedUrl.username
  url.password = storedUrl.password
  if (url.search === '') url.search = storedUrl.search
  return url.href
}

const portOf = ({ port, protocol }: URL): string => port || (protocol === 'smtps:' ? '465' : '587')

function smtpUrlFaults(smtpUrl: string | null): FieldFault[] {
  const url = smtpUrl === null ? undefined : URL.parse(smtpUrl)
  if (url === undefined) return []
  if (smtpUrl !== null && hasRawHash(smtpUrl)) return [{ path: 'smtpUrl', message: RAW_HASH }]
  if (url !== null && MAIL_SCHEMES.some((scheme) => scheme === url.protocol) && url.hostname !== '') return []
  return [{ path: 'smtpUrl', message: 'must be an address that starts with smtp://, smtps:// or postmark://' }]
}

/** Returns the server URL without its login. */
export const shownSmtpUrl = (smtpUrl: string | null): string | null => {
  const url = smtpUrl === null ? null : URL.parse(smtpUrl)
  return url === null ? null : `${url.protocol}//${url.host}`
}

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
