const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

/** How long the provider keeps media that customers sent. */
const PROVIDER_KEEPS_MS = 7 * 24 * HOUR
const WAITS_MS = [5 * SECOND, 30 * SECOND, 2 * MINUTE, 10 * MINUTE, HOUR]

/**
 * When to try again after failed copy number `failures` (from 1 on): soon at first, hourly in the end; undefined once
 * the provider has forgotten the media.
 */
export function nextCopyAt(failures: number, noted: Date, now: Date): Date | undefined {
  const at = now.getTime() + (WAITS_MS[failures - 1] ?? HOUR)
  return at < noted.getTime() + PROVIDER_KEEPS_MS ? new Date(at) : undefined
}
