// npm run mutants [-- --only TEXT] [-- --list]: puts each fault of the list into a copy of the repository and runs the tests.
// It fails when fewer than 95 % are noticed, or when one survives that is not in the short list of accepted ones.
import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import { ACCEPTED } from './accepted.ts'
import { companyMutants } from './company-mutants.ts'
import { GUARDS } from './guards.ts'
import { type Mutant, mutate } from './mutant.ts'

const ROOT = join(import.meta.dirname, '../..')
/** Tests over all rooms that look at what another company sees. */
const CROSS_COMPANY = ['test/hostile/quick.test.ts', 'test/permissions.test.ts', 'test/same-ids.test.ts']
/** A mutant that makes tests hang is noticed, too. */
const TIMEOUT_MS = 15 * 60_000
const GOAL = 0.95

const { values } = parseArgs({ options: { only: { type: 'string', default: '' }, list: { type: 'boolean' } } })
const mutants = [...GUARDS, ...companyMutants(ROOT)].filter(({ title }) => title.includes(values.only))
if (values.list) {
  for (const { title } of mutants) console.log(title)
  process.exit()
}

const copy = copyRepository()
const survivors: Mutant[] = []
try {
  const first = [...new Set(mutants.flatMap(({ tests }) => tests))]
  if (!passes(first)) throw new Error('The tests fail without any mutant: mend them first')
  for (const mutant of mutants) {
    const isNoticed = withMutant(mutant, () => !passes(mutant.tests) || !passes(CROSS_COMPANY) || !passes([]))
    if (!isNoticed) survivors.push(mutant)
    console.log(`${isNoticed ? 'noticed ' : 'SURVIVED'}  ${mutant.title}`)
  }
} finally {
  rmSync(copy, { recursive: true, force: true })
}
report()

function report(): void {
  const noticed = mutants.length - survivors.length
  console.log(
    `\n${noticed} of ${mutants.length} mutants were noticed (${((100 * noticed) / mutants.length).toFixed(1)} %)`,
  )
  const unexpected = survivors.filter(({ title }) => !ACCEPTED.some((accepted) => title.includes(accepted)))
  for (const { title } of unexpected) console.log(`not accepted: ${title}`)
  if (unexpected.length > 0 || noticed < GOAL * mutants.length) process.exitCode = 1
}

/** The tracked files, beside the same packages. */
function copyRepository(): string {
  const folder = mkdtempSync(join(tmpdir(), 'parley-mutants-'))
  const files = execFileSync('git', ['ls-files'], { cwd: ROOT, encoding: 'utf8' }).trim().split('\n')
  for (const file of files) {
    mkdirSync(dirname(join(folder, file)), { recursive: true })
    cpSync(join(ROOT, file), join(folder, file))
  }
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  return folder
}

function withMutant<T>(mutant: Mutant, run: () => T): T {
  const path = join(copy, mutant.file)
  writeFileSync(path, mutate(ROOT, mutant))
  try {
    return run()
  } finally {
    cpSync(join(ROOT, mutant.file), path)
  }
}

/** Whether these tests, or all when none are named, pass. */
function passes(tests: string[]): boolean {
  const command = ['vitest', 'run', '--bail=1', '--reporter=dot', '--passWithNoTests', ...tests]
  const { status } = spawnSync('npx', command, { cwd: copy, stdio: 'ignore', timeout: TIMEOUT_MS })
  return status === 0
}
