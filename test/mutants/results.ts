import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'

/** The outcome of a mutant whose file, with the fault in it, has this hash. */
export type Outcome = {
  title: string
  hash: string
  /** The first test that failed; null: the mutant survived. */
  noticedBy: string | null
  /** Whether all tests ran, or only the related ones. */
  isWhole: boolean
  seconds: number
}
/** The result of a test file of this hash without any mutant; null: it passes. */
export type Baseline = { test: string; hash: string; failure: string | null; seconds: number }

/** Results in a file, a line each, so that a run that was interrupted goes on where it ended. */
export function openResults(path: string) {
  const outcomes = new Map<string, Outcome>()
  const baselines = new Map<string, Baseline>()
  const lines = existsSync(path) ? readFileSync(path, 'utf8').split('\n') : []
  // A run that is killed may leave half of a last line.
  for (const line of lines.filter((one) => one.endsWith('}'))) keep(JSON.parse(line))
  return { outcomes, baselines, add, forget }

  function add(entry: Outcome | Baseline): void {
    keep(entry)
    appendFileSync(path, `${JSON.stringify(entry)}\n`)
  }

  function forget(isForgotten: (outcome: Outcome) => boolean): void {
    for (const outcome of [...outcomes.values()].filter(isForgotten)) outcomes.delete(outcome.title)
    const rest = [...baselines.values(), ...outcomes.values()]
    writeFileSync(path, rest.map((one) => `${JSON.stringify(one)}\n`).join(''))
  }

  function keep(entry: Outcome | Baseline): void {
    if ('title' in entry) outcomes.set(entry.title, entry)
    else baselines.set(entry.test, entry)
  }
}

export type Results = ReturnType<typeof openResults>
