import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** The text of a file of the repository. */
export const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8')

/** Whether this machine has a program. */
export const has = (program: string): boolean => spawnSync('sh', ['-c', `command -v ${program}`]).status === 0

/** Every setting that src/platform/settings/config.ts reads. */
export const SETTINGS = new Set(read('src/platform/settings/config.ts').match(/(?<=')[A-Z][A-Z_]{3,}(?=')/g))

/** The settings of the image. */
export function dockerEnv(): Record<string, string> {
  const line = /^ENV (.*)$/m.exec(read('Dockerfile'))?.[1] ?? ''
  return Object.fromEntries(line.split(' ').map((pair) => pair.split('=') as [string, string]))
}
