/** The counters that must stay zero, and one line of evidence for each of the first findings. */
export const COUNTERS = [
  'answers with status 5xx',
  'slow answers',
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
] as const
export type Counter = (typeof COUNTERS)[number]

export type Tally = {
  requests: number
  counts: Record<Counter, number>
  findings: string[]
  add(counter: Counter, evidence: string): void
}

const MOST_FINDINGS = 60

export function createTally(): Tally {
  const counts = Object.fromEntries(COUNTERS.map((counter) => [counter, 0])) as Record<Counter, number>
  const seen = new Set<string>()
  const findings: string[] = []
  return {
    requests: 0,
    counts,
    findings,
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
