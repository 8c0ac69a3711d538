import type { FieldFault } from '../../platform/errors.ts'
import { isEmail } from '../../platform/text/email-address.ts'

/**
 * Characters that some parser takes for the end of a header line: control characters, and Unicode's line and paragraph
 * separators.
 */
const LINE_BREAKING = /[\p{Cc}\p{Zl}\p{Zp}]/u

/**
 * Headers that a caller may set in addition to `X-…`: none that names persons, dates, contents, or the route of a mail.
 */
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

/** The fault of a text that becomes part of a header. */
export const lineFaults = (path: string, text: string | null | undefined): FieldFault[] =>
  text && LINE_BREAKING.test(text) ? [{ path, message: 'must be one line without control characters' }] : []

/** The fault of what should be one address, without name, group or second recipient. */
export function addressFaults(path: string, text: string | null | undefined): FieldFault[] {
  if (text === null || text === undefined) return []
  // An address is never decoded: what only a careless reader would decode is none.
  if (isEmail(text) && !text.includes('=?')) return []
  return [{ path, message: 'must be one address such as ada@example.com' }]
}

/** Faults of the headers of a mail: names that may not be set, repeated names, and values with more than one line. */
export function headersFaults(headers: Readonly<Record<string, string>>): FieldFault[] {
  const entries = Object.entries(headers)
  const names = entries.map(([name]) => name.toLowerCase())
  return entries.flatMap(([name, value], place): FieldFault[] => {
    const path = `headers.${name.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]/gu, '?')}`
    if (!OWN_HEADER.test(name) && !ALLOWED.has(name.toLowerCase())) {
      return [{ path, message: 'is no header that may be set here' }]
    }
    if (names.indexOf(name.toLowerCase()) !== place) return [{ path, message: 'is given twice' }]
    return lineFaults(path, value)
  })
}
