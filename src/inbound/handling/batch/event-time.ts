/**
 * Returns when an event counts as happened: the time that the provider reports, but never after the arrival. Providers count in
 * seconds, and so does an arrival that takes the place of a time: of two events in one second, the later one is not older.
 */
export function eventTime(reportedAt: Date | null, arrivedAt: Date): Date {
  if (reportedAt === null) return arrivedAt
  return reportedAt > arrivedAt ? new Date(Math.floor(arrivedAt.getTime() / 1000) * 1000) : reportedAt
}
