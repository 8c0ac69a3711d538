/** The counters that must stay zero, and one line of evidence for each of the first findings. */
export const COUNTERS = [
  'answers with status 5xx',
  'answers not described',
  'leaks',
  'answers that differ for foreign ids',
  'routes not covered',
  'malformed HTTP without a proper answer',
  'others delayed by a hostile body',
  'log lines or rows beyond the bound',
  'memory beyond the bound',
  'connections without an answer',
  'healthy calls refused',
  'proven events refused',
  'processor time beyond the bound',
  'answers to other sites',
  'routes open to a wrong role',
  'rights beyond a browser key',
  'limits spent by a browser key',
  'archives that reach other companies',
] as const
export type Counter = (typeof COUNTERS)[number]

export type Tally = {
  requests: number
  counts: Record<Counter, number>
  findings: string[]
  /** Of the calls of a healthy company, for each attack; the first is without one. */
  latencies: { name: string; calls: number; p50Ms: number; p99Ms: number }[]
  /** Other figures of the summary, as sentences. */
  figures: string[]
  addLatency(name: string, ms: readonly number[]): void
  add(counter: Counter, evidence: string): void
}

const MOST_FINDINGS = 60
/** The row of a machine whose processors others use, without an attack. */
export const BUSY_MACHINE = 'no attack, two busy programs'

export function createTally(): Tally {
  const counts = Object.fromEntries(COUNTERS.map((counter) => [counter, 0])) as Record<Counter, number>
  const seen = new Set<string>()
  const findings: string[] = []
  const latencies: Tally['latencies'] = []
  return {
    requests: 0,
    counts,
    findings,
    latencies,
    figures: [],
    addLatency: (name, ms) => {
      const sorted = ms.toSorted((one, other) => one - other)
      const percentile = (share: number) => sorted[Math.floor(sorted.length * share)] ?? 0
      latencies.push({ name, calls: ms.length, p50Ms: percentile(0.5), p99Ms: percentile(0.99) })
    },
    add: (counter, evidence) => {
      counts[counter]++
      const line = `${counter}: ${evidence.replaceAll(/[^\x20-\x7e]/g, '.').slice(0, 400)}`
      if (seen.has(line) || findings.length >= MOST_FINDINGS) return
      seen.add(line)
      findings.push(line)
    },
  }
}

export const total = ({ counts }: Tally): number => Object.values(counts).reduce((sum, count) => sum + count, 0)

/** The table that a run ends with. */
export function tableOf(tally: Tally): string {
  const rows = COUNTERS.map((counter) => `  ${counter.padEnd(42)} ${String(tally.counts[counter]).padStart(7)}`)
  return [`  ${'requests'.padEnd(42)} ${String(tally.requests).padStart(7)}`, ...rows].join('\n')
}

/** How often the 99th percentile without an attack that under each attack is. */
export function latenciesOf({ latencies }: Tally): (Tally['latencies'][number] & { ofQuiet: number })[] {
  const quiet = latencies[0]?.p99Ms ?? 0
  return latencies.map((one) => ({ ...one, ofQuiet: one.p99Ms / quiet }))
}

/** How an attack delays the calls of a healthy company. */
export function latencyTableOf(tally: Tally): string {
  const head = `  ${'healthy calls during'.padEnd(42)} ${'calls'.padStart(7)} ${'p50 ms'.padStart(8)} ${'p99 ms'.padStart(8)} ${'of quiet'.padStart(9)}`
  const rows = latenciesOf(tally).map(({ name, calls, p50Ms, p99Ms, ofQuiet }) => {
    const times = [p50Ms, p99Ms].map((ms) => ms.toFixed(1).padStart(8)).join(' ')
    return `  ${name.padEnd(42)} ${String(calls).padStart(7)} ${times} ${`${ofQuiet.toFixed(1)} x`.padStart(9)}`
  })
  return [head, ...rows].join('\n')
}
