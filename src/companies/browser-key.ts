import type { FieldFault } from '../errors.ts'
import type { Permission } from '../http/admission/caller.ts'

/** The members of a contact that a key of a browser may be limited to; `customFields.<key>` names a single custom field. */
export const WRITABLE_FIELDS = [
  'firstName',
  'lastName',
  'status',
  'source',
  'source_type',
  'tags',
  'customFields',
  'marketingConsent',
] as const
const CUSTOM_FIELD = /^customFields\..{1,100}$/su

/** The settings of a key that holds `ContactsUpsert` alone; null and absent: the default. */
export type BrowserKeySettings = {
  rateLimitPerMinute?: number | null
  rateLimitPerAddress?: number | null
  writableFields?: readonly string[] | null
}

/** Whether a key is used in browsers, where every visitor can read it: it holds `ContactsUpsert` alone. */
export const isBrowserKey = (permissions: readonly Permission[]): boolean =>
  permissions.every((permission) => permission === 'ContactsUpsert')

/** The requests a minute of a browser key: its own, and those of one client address; never more than the company's. */
export function browserLimits(
  companyLimit: number,
  { ofKey, ofAddress }: { ofKey: number | null; ofAddress: number | null },
): { ofKey: number; ofAddress: number } {
  const key = Math.min(ofKey ?? share(companyLimit, 2), companyLimit)
  return { ofKey: key, ofAddress: Math.min(ofAddress ?? share(companyLimit, 5), key) }
}

const share = (limit: number, parts: number): number => Math.max(Math.floor(limit / parts), 1)

/** The faults of settings that their shape cannot find: fields that do not exist. */
export function writableFieldFaults(fields: unknown): FieldFault[] {
  if (!Array.isArray(fields)) return []
  const message = `must be one of ${WRITABLE_FIELDS.join(', ')}, or customFields.<key>`
  return fields.flatMap((field, index) =>
    typeof field !== 'string' || WRITABLE_FIELDS.some((one) => one === field) || CUSTOM_FIELD.test(field)
      ? []
      : [{ path: `writableFields[${index}]`, message }],
  )
}
