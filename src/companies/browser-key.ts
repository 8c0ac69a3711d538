import type { Permission } from '../http/admission/caller.ts'

export type BrowserKeySettings = {
  rateLimitPerMinute?: number | null
  rateLimitPerAddress?: number | null
  writableFields?: readonly string[] | null
  storedBytesPerHour?: number | null
}

/** Returns whether every visitor can read the key: browser keys hold only `ContactsUpsert`. */
export const isBrowserKey = (permissions: readonly Permission[]): boolean =>
  permissions.every((permission) => permission === 'ContactsUpsert')

/** Returns requests per minute for the key and for one client address, capped at the company limit. */
export function browserLimits(
  companyLimit: number,
  { ofKey, ofAddress }: { ofKey: number | null; ofAddress: number | null },
): { ofKey: number; ofAddress: number } {
  const key = Math.min(ofKey ?? share(companyLimit, 2), companyLimit)
  return { ofKey: key, ofAddress: Math.min(ofAddress ?? share(companyLimit, 5), key) }
}

/** Hourly default; one client address gets a fifth. */
export const STORED_BYTES_PER_HOUR = 20 * 1024 * 1024
const ADDRESS_PARTS = 5

/** Returns the bytes a browser key may store per hour, in total and per client address. */
export const storedBytesLimits = (ofKey: number | null): { ofKey: number; ofAddress: number } => {
  const bytes = ofKey ?? STORED_BYTES_PER_HOUR
  return { ofKey: bytes, ofAddress: share(bytes, ADDRESS_PARTS) }
}

const share = (limit: number, parts: number): number => Math.max(Math.floor(limit / parts), 1)
