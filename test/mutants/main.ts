// npm run mutants [-- --only TEXT --list --anew --survivors --related --minutes N]: puts each fault of the list into a copy of
// the repository and runs the tests that may notice it (CONTRIBUTING.md, "Mutants").
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { ACCEPTED } from './accepted.ts'
import { companyMutants } from './company-mutants.ts'
import { GUARDS } from './guards.ts'
import type { Mutant } from './mutant.ts'
import { openResults } from './results.ts'
import { hashOf, openTrials } from './trial.ts'

const ROOT = join(import.meta.dirname, '../..')
/** The results of this run and of earlier ones. */
const RESULTS = join(ROOT, 'mutants.ndjson')
/** The part of all mutants that the tests have to notice. */
const GOAL = 0.95

const { values: options } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    list: { type: 'boolean', default: false },
    anew: { type: 'boolean', default: false },
    survivors: { type: 'boolean', default: false },
    related: { type: 'boolean', default: false },
    minutes: { type: 'string', default: 'Infinity' },
  },
})
const mutants = [...GUARDS, ...companyMutants(ROOT)].filter(({ title }) => title.includes(options.only))
const hashes = new Map(mutants.map((mutant) => [mutant.title, hashOf(ROOT, mutant)]))
if (options.anew) rmSync(RESULTS, { force: true })
const results = openResults(RESULTS)
if (options.survivors) results.forget(({ noticedBy }) => noticedBy === null)
if (options.list) for (const { title } of mutants) console.log(title)
else {
  await tryAll()
  report()
}

async function tryAll(): Promise<void> {
  const end = performance.now() + Number(options.minutes) * 60_000
  const waiting = mutants.filter(isWaiting)
  if (waiting.length === 0) return
  const trials = await openTrials(ROOT, results)
  try {
    for (const mutant of waiting) {
      const isWhole = !options.related && !(mutant.title in ACCEPTED)
      const outcome = await trials.tryMutant(mutant, isWhole, () => performance.now() < end)
      if (outcome === undefined) break
      results.add(outcome)
      console.log(`${outcome.noticedBy === null ? 'SURVIVED' : 'noticed '}  ${outcome.seconds} s  ${mutant.title}`)
    }
  } finally {
    await trials.close()
  }
}

/** Whether the mutant is new, its file has changed, or it survived the related tests and all are to run. */
function isWaiting(mutant: Mutant): boolean {
  const result = results.outcomes.get(mutant.title)
  if (result === undefined || result.hash !== hashes.get(mutant.title)) return true
  return result.noticedBy === null && !result.isWhole && !options.related && !(mutant.title in ACCEPTED)
}

/** Fails when fewer than the goal are noticed, when one survives that is not accepted, or when some did not run. */
function report(): void {
  const waiting = mutants.filter(isWaiting).length
  const outcomes = mutants.map(({ title }) => results.outcomes.get(title)).filter((one) => one !== undefined)
  const survivors = outcomes.filter(({ noticedBy }) => noticedBy === null)
  const unexpected = survivors.filter(({ title }) => !(title in ACCEPTED))
  const noticed = outcomes.length - survivors.length
  const share = ((100 * noticed) / outcomes.length).toFixed(1)
  const minutes = outcomes.reduce((sum, { seconds }) => sum + seconds, 0) / 60
  console.log(
    `\n${noticed} of ${outcomes.length} mutants were noticed (${share} %), ${survivors.length - unexpected.length} survivors ` +
      `are accepted, ${unexpected.length} are not; ${minutes.toFixed(0)} minutes, ${waiting} mutants wait`,
  )
  for (const { title } of unexpected) console.log(`not accepted: ${title}`)
  if (unexpected.length > 0 || waiting > 0 || noticed < GOAL * outcomes.length) process.exitCode = 1
}
