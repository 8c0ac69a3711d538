import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

/** A copy of the tracked files, beside the same packages, so that a fault is never written into the repository itself. */
export function copyRepository(root: string) {
  const folder = mkdtempSync(join(realpathSync(tmpdir()), 'parley-mutants-'))
  const files = execFileSync('git', ['ls-files', '-co', '--exclude-standard'], { cwd: root, encoding: 'utf8' })
  for (const file of files.trim().split('\n')) {
    mkdirSync(dirname(join(folder, file)), { recursive: true })
    cpSync(join(root, file), join(folder, file))
  }
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  const remove = () => rmSync(folder, { recursive: true, force: true })
  process.once('exit', remove)
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))
  return { folder, write: (file: string, text: string) => writeFileSync(join(folder, file), text), remove }
}

export type Copy = ReturnType<typeof copyRepository>
