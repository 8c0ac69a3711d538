import type { Db } from '../db/connect.ts'
import { type FieldFault, validationError } from '../errors.ts'
import type { Cipher } from '../secrets.ts'
import { findEmailSettings, writeEmailSettings } from './email-settings-store.ts'
import { addressFaults, lineFaults } from './header-text.ts'

/** How a company sends email: as whom, and through which server unless the service's own. */
export type EmailSettings = { from: string; fromName: string | null; smtpUrl: string | null }

export type SettingsDeps = { db: Db; cipher: Cipher }

/** The company's settings; undefined while it has none. The server's address holds its password. */
export async function getEmailSettings(deps: SettingsDeps, companyId: number): Promise<EmailSettings | undefined> {
  const row = await findEmailSettings(deps.db, companyId)
  return (
    row && {
      from: row.fromAddress,
      fromName: row.fromName,
      smtpUrl: row.smtpUrl === null ? null : deps.cipher.decrypt(row.smtpUrl),
    }
  )
}

/** Replaces the company's settings; 422 names every value that is not allowed. Mails on their way go by the new ones. */
export async function setEmailSettings(
  deps: SettingsDeps,
  companyId: number,
  settings: EmailSettings,
): Promise<EmailSettings> {
  const faults = [
    ...addressFaults('from', settings.from),
    ...lineFaults('fromName', settings.fromName),
    ...smtpUrlFaults(settings.smtpUrl),
  ]
  if (faults.length > 0) throw validationError(faults)
  await writeEmailSettings(deps.db, companyId, {
    fromAddress: settings.from,
    fromName: settings.fromName,
    smtpUrl: settings.smtpUrl === null ? null : deps.cipher.encrypt(settings.smtpUrl),
  })
  return settings
}

function smtpUrlFaults(smtpUrl: string | null): FieldFault[] {
  const url = smtpUrl === null ? undefined : URL.parse(smtpUrl)
  if (url === undefined) return []
  if (url !== null && ['smtp:', 'smtps:'].includes(url.protocol) && url.hostname !== '') return []
  return [{ path: 'smtpUrl', message: 'must be an address that begins with smtp:// or smtps://' }]
}

/** The server of a mail server's address, without what it takes to log in there. */
export const shownSmtpUrl = (smtpUrl: string | null): string | null => {
  const url = smtpUrl === null ? null : URL.parse(smtpUrl)
  return url === null ? null : `${url.protocol}//${url.host}`
}
