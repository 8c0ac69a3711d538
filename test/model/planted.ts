import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { copyRepository } from '../mutants/copy.ts'
import { mutate } from '../mutants/mutant.ts'
import { PLANTED, type Planted } from './planted-faults.ts'

const HISTORIES = 500
/** Without a fault. */
const CONTROL_HISTORIES = 100

/** Runs the histories of a model against a copy of the repository with each fault; returns the faults that none has found. */
export async function findPlanted(
  root: string,
  { seed, only, say }: { seed: number; only?: string | undefined; say: (line: string) => void },
): Promise<string[]> {
  const copy = copyRepository(root)
  const missed: string[] = []
  const faults = PLANTED.filter(({ model }) => only === undefined || model === only)
  for (const model of new Set(faults.map((fault) => fault.model))) {
    const { isFound, output } = await tryModel(copy.folder, model, seed, CONTROL_HISTORIES)
    if (isFound) missed.push(`the histories of ${model} fail without any fault`)
    say(
      isFound
        ? `WITHOUT A FAULT the histories fail:\n${output}`
        : `without a fault: ${CONTROL_HISTORIES} histories of ${model} find nothing`,
    )
  }
  for (const fault of faults) {
    const original = readFileSync(join(copy.folder, fault.file), 'utf8')
    copy.write(fault.file, mutate(copy.folder, fault))
    const start = performance.now()
    const { isFound, output } = await tryModel(copy.folder, fault.model, seed, HISTORIES)
    copy.write(fault.file, original)
    const seconds = Math.round((performance.now() - start) / 1000)
    if (!isFound) missed.push(fault.title)
    say(
      `${isFound ? 'found' : 'MISSED'} in ${seconds} s: ${fault.title}\n    ${isFound ? finding(output, fault) : output.slice(-2_000)}`,
    )
  }
  copy.remove()
  return missed
}

/** The fault is found when the histories fail, and not when the program does. */
async function tryModel(
  folder: string,
  model: Planted['model'],
  seed: number,
  histories: number,
): Promise<{ isFound: boolean; output: string }> {
  const options = ['--histories', String(histories), '--seed', String(seed), '--only', model, '--no-shrink']
  const child = spawn(process.execPath, ['test/model/main.ts', ...options], { cwd: folder })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk))
  await new Promise((resume) => child.once('close', resume))
  return { isFound: output.includes(`\n${model}: `), output }
}

const finding = (output: string, { model }: Planted): string =>
  output.split('\n').find((line) => line.startsWith(`${model}: `)) ?? ''
