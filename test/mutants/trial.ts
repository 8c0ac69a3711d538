import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { testFiles } from '../run/projects.ts'
import { copyRepository } from './copy.ts'
import { type Mutant, mutate } from './mutant.ts'
import { createRelated } from './related.ts'
import type { Outcome, Results } from './results.ts'
import { openTestRun } from './test-run.ts'

/** Slower test files run last. */
const SLOW_SECONDS = 60
/** Slower test files, which wait for things, notice a mutant when they fail twice. */
const DOUBTFUL_SECONDS = 5

/** Tries mutants in a copy of the repository, one after the other, against the closest test files first. */
export async function openTrials(root: string, results: Results) {
  const copy = copyRepository(root)
  const related = createRelated(copy.folder)
  const { unit, database } = testFiles(copy.folder)
  const tests = await openTestRun(copy.folder)
  return { tryMutant, close }

  /** Runs the related tests, or all of them, until one fails; undefined when the time ends before. */
  async function tryMutant(mutant: Mutant, isWhole: boolean, hasTime: () => boolean): Promise<Outcome | undefined> {
    const start = performance.now()
    const original = readFileSync(join(copy.folder, mutant.file), 'utf8')
    const mutated = mutate(copy.folder, mutant)
    const files = [...(mutant.tests ?? []), ...related(mutant.file), ...(isWhole ? [...database, ...unit] : [])]
    let noticedBy: string | null = null
    for (const file of slowLast(files, results)) {
      if (!hasTime()) break
      if (!(await passesWithout(file, () => put(mutant.file, original)))) continue
      noticedBy = (await put(mutant.file, mutated)) ?? (await failureOf(file))
      if (noticedBy !== null) break
    }
    await put(mutant.file, original)
    if (noticedBy === null && !hasTime()) return undefined
    return { title: mutant.title, hash: digest(mutated), noticedBy, isWhole, seconds: secondsSince(start) }
  }

  async function failureOf(file: string): Promise<string | null> {
    const failure = (await tests.run(file)) ?? null
    return failure !== null && secondsOf(file, results) > DOUBTFUL_SECONDS ? ((await tests.run(file)) ?? null) : failure
  }

  /** A test file that fails without any mutant says nothing about one. */
  async function passesWithout(test: string, restore: () => Promise<unknown>): Promise<boolean> {
    const hash = digest(readFileSync(join(copy.folder, test), 'utf8'))
    const cached = results.baselines.get(test)
    if (cached?.hash === hash) return cached.failure === null
    await restore()
    const start = performance.now()
    const failure = (await tests.run(test)) ?? null
    results.add({ test, hash, failure, seconds: secondsSince(start) })
    if (failure !== null) console.log(`left out, since it fails without any mutant: ${failure}`)
    return failure === null
  }

  /** Writes a file of the copy, unless that is its text already. */
  async function put(file: string, text: string): Promise<string | undefined> {
    if (readFileSync(join(copy.folder, file), 'utf8') === text) return undefined
    copy.write(file, text)
    return tests.changed(file)
  }

  async function close(): Promise<void> {
    await tests.close()
    copy.remove()
  }
}

function slowLast(files: string[], results: Results): string[] {
  const isSlow = (file: string) => Number(secondsOf(file, results) > SLOW_SECONDS)
  return [...new Set(files)].toSorted((a, b) => isSlow(a) - isSlow(b))
}

const secondsOf = (file: string, results: Results): number => results.baselines.get(file)?.seconds ?? 0

/** Of the file with the fault in it. */
export const hashOf = (root: string, mutant: Mutant): string => digest(mutate(root, mutant))

const digest = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 16)
const secondsSince = (start: number): number => Math.round((performance.now() - start) / 100) / 10
