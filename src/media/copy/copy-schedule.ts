const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

/** How long the provider keeps media that customers sent. */
const PROVIDER_KEEPS_MS = 7 * 24 * HOUR
const WAITS_MS = [5 * SECOND, 30 * SECOND, 2 * MINUTE, 10 * MINUTE, HOUR]
/** One provider blocks a number for an hour after more than five questions that it refused in one. */
const REFUSED_WAITS_MS = [5 * SECOND, MINUTE, 10 * MINUTE, HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR]

/** Failed copies of a medium, and whether the provider refused the last one. */
export type CopyFailures = { failures: number; isRefused: boolean }

/**
 * When to try again after a failed copy: soon at first, hourly in the end, and every 12 h for what the provider refuses; undefined
 * once it has forgotten the media.
 */
export function nextCopyAt({ failures, isRefused }: CopyFailures, noted: Date, now: Date): Date | undefined {
  const waits = isRefused ? REFUSED_WAITS_MS : WAITS_MS
  const at = now.getTime() + (waits[failures - 1] ?? waits.at(-1) ?? HOUR)
  return at < noted.getTime() + PROVIDER_KEEPS_MS ? new Date(at) : undefined
}
