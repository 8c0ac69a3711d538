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
  'registrations beyond the bound',
  'attempts beyond the share of a company',
  'backlogs beyond the bound',
  'redeliveries beyond the first',
  'large work beyond its pace',
  'bytes or rows kept beyond the bound',
  'sessions beyond the bound',
  'requests read beyond the bound',
  'connections beyond the share of an address',
  'unread answers never closed',
  'waiting answers beyond the budget',
  'open files beyond the bound',
  'metrics computed beyond their rate',
] as const
export type Counter = (typeof COUNTERS)[number]

/**
 * Where the time went, in milliseconds: how long the calls were measured, what the thread that answers requests computed
 * meanwhile, how long it was ready to and waited for a processor, what the database computed, what programs did that do not
 * belong to the run, and how long the disk of the machine let a small write wait.
 */
export type Shares = {
  measured: number
  ran: number
  waited: number
  database: number
  others: number
  disk: number
}

/** The calls of a healthy company, without an attack or under one. */
export type Measured = Shares & { name: string; ms: number[] }
/** Calls under an attack, and the quiet ones just before them: the machine itself is quicker at one time than at another. */
export type Row = Measured & { quiet: Measured | undefined }

export type Tally = {
  requests: number
  counts: Record<Counter, number>
  findings: string[]
  latencies: Row[]
  /** Other figures of the summary, as sentences. */
  figures: string[]
  /** Adds calls, and the quiet ones before them, to those measured under the same name. */
  addLatency(measured: Measured, quiet?: Measured): void
  add(counter: Counter, evidence: string): void
}

export const PROCESSOR_SHARES = ['measured', 'ran', 'waited', 'database', 'others'] as const
const SHARES = [...PROCESSOR_SHARES, 'disk'] as const
const MOST_FINDINGS = 60
/** Processor time of programs that do not belong to the run, as a part of one processor, beside which delays are judged. */
const MOST_OF_OTHERS = 0.1
/** The part of the time in which the disk may stand still: each call that writes waits for it, also for one that others use. */
const MOST_OF_DISK = 0.005
/** The row of calls between the attacks. */
export const QUIET = 'no attack'
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
    addLatency: (measured, quiet) => {
      const existing = latencies.find(({ name }) => name === measured.name)
      if (existing === undefined) latencies.push({ ...measured, quiet })
      else Object.assign(existing, join(existing, measured), { quiet: quiet && join(existing.quiet, quiet) })
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

function join(before: Measured | undefined, measured: Measured): Measured {
  if (before === undefined) return measured
  const shares = SHARES.map((share) => [share, before[share] + measured[share]])
  return { ...measured, ...Object.fromEntries(shares), ms: [...before.ms, ...measured.ms] }
}

export const total = ({ counts }: Tally): number => Object.values(counts).reduce((sum, count) => sum + count, 0)

/** The table that a run ends with. */
export function tableOf(tally: Tally): string {
  const rows = COUNTERS.map((counter) => `  ${counter.padEnd(42)} ${String(tally.counts[counter]).padStart(7)}`)
  return [`  ${'requests'.padEnd(42)} ${String(tally.requests).padStart(7)}`, ...rows].join('\n')
}

/** Whether other programs and the disk of the machine let the calls alone, so that their times are the service's. */
export const isUndisturbed = ({ measured, others, disk }: Shares): boolean =>
  others <= MOST_OF_OTHERS * measured && disk <= MOST_OF_DISK * measured

/**
 * Returns percentiles, and p99 as a multiple of the quiet calls just before, and of those beside two busy programs. `isAlone`:
 * no other program disturbed either of them.
 */
export function latenciesOf({ latencies }: Tally) {
  const rowOf = (name: string) => latencies.find((one) => one.name === name)
  const busyP99 = p99Of(rowOf(BUSY_MACHINE))
  return latencies.map(({ quiet = rowOf(QUIET), ...one }) => {
    const p99Ms = p99Of(one)
    return {
      ...one,
      calls: one.ms.length,
      p50Ms: percentileOf(one.ms, 0.5),
      p99Ms,
      ofQuiet: p99Ms / p99Of(quiet),
      ofBusy: p99Ms / busyP99,
      isAlone: quiet !== undefined && isUndisturbed(quiet) && isUndisturbed(one),
    }
  })
}

const p99Of = (row: Measured | undefined): number => percentileOf(row?.ms ?? [], 0.99)

function percentileOf(ms: readonly number[], share: number): number {
  const sorted = ms.toSorted((one, other) => one - other)
  return sorted[Math.floor(sorted.length * share)] ?? 0
}

/**
 * How an attack delays the calls of a healthy company, and where the time went: see `Shares`. Attackers, the sandbox and the
 * database share the processors of this machine with the service: `waiting` is what they delay.
 */
export function latencyTableOf(tally: Tally): string {
  const titles = [
    'calls',
    'p50 ms',
    'p99 ms',
    'of quiet',
    'of busy',
    'service',
    'waiting',
    'database',
    'others',
    'disk',
  ]
  const toRow = (name: string, cells: readonly string[]) =>
    `  ${name.padEnd(34)} ${cells.map((cell) => cell.padStart(8)).join(' ')}`
  const head = toRow('healthy calls during', titles)
  const rows = latenciesOf(tally).map(({ name, calls, p50Ms, p99Ms, ofQuiet, ofBusy, ...shares }) => {
    const { measured, ran, waited, database, others, disk } = shares
    const parts = [ran, waited, database, others].map((share) => `${Math.round((share / measured) * 100)} %`)
    parts.push(`${((disk / measured) * 100).toFixed(1)} %`)
    return toRow(name, [
      String(calls),
      p50Ms.toFixed(1),
      p99Ms.toFixed(1),
      `${ofQuiet.toFixed(1)} x`,
      `${ofBusy.toFixed(1)} x`,
      ...parts,
    ])
  })
  return [head, ...rows].join('\n')
}
