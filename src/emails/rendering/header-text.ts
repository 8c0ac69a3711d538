import type { FieldFault } from '../../platform/errors.ts'
import { isEmail } from '../../platform/text/email-address.ts'

/** Any character some parser takes for a line end. */
const LINE_BREAKING = /[\p{Cc}\p{Zl}\p{Zp}]/u

/** Must not set people, dates, contents or routing. */
const ALLOWED = new Set([
  'auto-submitted',
  'comments',
  'feedback-id',
  'importance',
  'in-reply-to',
  'keywords',
  'list-archive',
  'list-help',
  'list-id',
  'list-owner',
  'list-post',
  'list-subscribe',
  'list-unsubscribe',
  'list-unsubscribe-post',
  'organization',
  'precedence',
  'priority',
  'references',
])
const OWN_HEADER = /^x-[a-z0-9-]{1,60}$/i

export const MAX_EMAIL_HEADERS = 20
export const MAX_HEADER_LENGTH = 900

export const lineFaults = (path: string, text: string | null | undefined): FieldFault[] =>
  text && LINE_BREAKING.test(text) ? [{ path, message: 'must be one line without control characters' }] : []

/** Returns a fault unless `text` is exactly one address, without name or group. */
export function addressFaults(path: string, text: string | null | undefined): FieldFault[] {
  if (text === null || text === undefined) return []
  // Never decoded, so an encoded word is no address.
  if (isEmail(text) && !text.includes('=?')) return []
  return [{ path, message: 'must be one address such as ada@example.com' }]
}

/** Returns faults for forbidden or repeated names and multi-line values. */
export function headersFaults(headers: Readonly<Record<string, string>>): FieldFault[] {
  const entries = Object.entries(headers)
  const names = entries.map(([name]) => name.toLowerCase())
  return entries.flatMap(([name, value], place): FieldFault[] => {
    const path = `headers.${name.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]/gu, '?')}`
    if (!OWN_HEADER.test(name) && !ALLOWED.has(name.toLowerCase())) {
      return [{ path, message: 'must not be set here' }]
    }
    if (names.indexOf(name.toLowerCase()) !== place) return [{ path, message: 'is given twice' }]
    return lineFaults(path, value)
  })
}
