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

/**
 * Where the time went, in seconds of each second: what the thread that answers requests computed, how long it was ready to and
 * waited for a processor, and what the database computed.
 */
export type Shares = { ran: number; waited: number; database: number }

export type Tally = {
  requests: number
  counts: Record<Counter, number>
  findings: string[]
  /** Of the calls of a healthy company, for each attack; the first is without one. */
  latencies: (Shares & { name: string; calls: number; p50Ms: number; p99Ms: number })[]
  /** Other figures of the summary, as sentences. */
  figures: string[]
  addLatency(name: string, ms: readonly number[], shares: Shares): void
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
    addLatency: (name, ms, shares) => {
      const sorted = ms.toSorted((one, other) => one - other)
      const percentile = (share: number) => sorted[Math.floor(sorted.length * share)] ?? 0
      latencies.push({ name, calls: ms.length, p50Ms: percentile(0.5), p99Ms: percentile(0.99), ...shares })
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

/**
 * How an attack delays the calls of a healthy company, and where the time went: see `Shares`. Attackers, the sandbox and the
 * database share the processors of this machine with the service: `waiting` is what they delay.
 */
export function latencyTableOf(tally: Tally): string {
  const titles = ['calls', 'p50 ms', 'p99 ms', 'of quiet', 'service', 'waiting', 'database']
  const toRow = (name: string, cells: readonly string[]) =>
    `  ${name.padEnd(34)} ${cells.map((cell) => cell.padStart(8)).join(' ')}`
  const head = toRow('healthy calls during', titles)
  const rows = latenciesOf(tally).map(({ name, calls, p50Ms, p99Ms, ofQuiet, ...shares }) => {
    const parts = [shares.ran, shares.waited, shares.database].map((share) => `${Math.round(share * 100)} %`)
    return toRow(name, [String(calls), p50Ms.toFixed(1), p99Ms.toFixed(1), `${ofQuiet.toFixed(1)} x`, ...parts])
  })
  return [head, ...rows].join('\n')
}
