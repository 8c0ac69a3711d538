import type { Permission } from '../http/admission/caller.ts'

/** The settings of a key that holds `ContactsUpsert` alone; null and absent: the default. */
export type BrowserKeySettings = {
  rateLimitPerMinute?: number | null
  rateLimitPerAddress?: number | null
  writableFields?: readonly string[] | null
  storedBytesPerHour?: number | null
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

/** Bytes that a browser key may store in an hour, unless the operator sets another number; one address a fifth of them. */
export const STORED_BYTES_PER_HOUR = 20 * 1024 * 1024
const ADDRESS_PARTS = 5

/** The bytes that a browser key may store in an hour: its own, and those of one client address. */
export const storedBytesLimits = (ofKey: number | null): { ofKey: number; ofAddress: number } => {
  const bytes = ofKey ?? STORED_BYTES_PER_HOUR
  return { ofKey: bytes, ofAddress: share(bytes, ADDRESS_PARTS) }
}

const share = (limit: number, parts: number): number => Math.max(Math.floor(limit / parts), 1)
