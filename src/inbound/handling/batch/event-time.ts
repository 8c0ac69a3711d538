/**
 * Returns the reported time, capped at the arrival time. The cap rounds down to seconds, like providers do, so that
 * later events in the same second never look older.
 */
export function eventTime(reportedAt: Date | null, arrivedAt: Date): Date {
  if (reportedAt === null) return arrivedAt
  return reportedAt > arrivedAt ? new Date(Math.floor(arrivedAt.getTime() / 1000) * 1000) : reportedAt
}
