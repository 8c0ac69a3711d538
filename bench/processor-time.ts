/** Processor seconds used by the service and by its database. */
export type ProcessorTime = { service: number; database: number }

/** The time for each of so many items between two readings of `stage.cpu()`, as text. */
export function perItem(before: ProcessorTime, after: ProcessorTime, count: number): string {
  const per = (of: keyof ProcessorTime) => milliseconds((after[of] - before[of]) / count)
  return `service ${per('service')}, database ${per('database')}`
}

export const milliseconds = (seconds: number): string => `${(seconds * 1_000).toFixed(3)} ms`
