import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { inject } from 'vitest'

/** Ends commands that hang. A busy machine takes many times as long as an idle one. */
const DEADLINE_MS = 600_000
const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** The named blocks of commands of a page: "```sh name" begins one. */
export function blocksOf(page: string): Map<string, string> {
  const text = readFileSync(join(ROOT, 'docs', page), 'utf8')
  const blocks = [...text.matchAll(/^( *)```sh (\S+)\n([\s\S]*?)^ *```$/gm)]
  return new Map(blocks.map(([, indent = '', name = '', body = '']) => [name, body.replaceAll(`\n${indent}`, '\n')]))
}

/** The unnamed blocks of commands of any page, in their order. */
export const unnamedBlocksOf = (path: string): string[] =>
  [...readFileSync(join(ROOT, path), 'utf8').matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, commands = '']) => commands)

/** The blocks of commands of a page without a name, which no test can run. */
export const countUnnamed = (page: string): number =>
  readFileSync(join(ROOT, 'docs', page), 'utf8').match(/^ *```(?:sh|bash|shell|console)$/gm)?.length ?? 0

/** The commands of some blocks of a page, for one shell: variables of a block hold in the next ones. */
export function commandsOf(page: string, names: string[]): string {
  const blocks = blocksOf(page)
  const missing = names.filter((name) => !blocks.has(name))
  if (missing.length > 0) throw new Error(`docs/${page} has no block ${missing.join(', ')}`)
  return names.map((name) => blocks.get(name)).join('\n')
}

/** `parley` as a bundle of the sources: bin/parley would run the sources themselves, which takes a second longer to load. */
const bundledParley = () => `#!/bin/sh
export NODE_COMPILE_CACHE='${process.env.NODE_COMPILE_CACHE}'
exec '${process.execPath}' '${inject('mainProgram')}' "$@"
`

/**
 * Runs commands of a page as they stand, in a folder that has `deploy`, with `parley` on the path; returns what they print.
 *
 * @throws Error with the output when a command fails
 */
export function runCommands(
  commands: string,
  folder: string,
  env: Record<string, string>,
  { input = '', parley }: { input?: string; parley?: string } = {},
): string {
  const path = mkdtempSync(join(tmpdir(), 'parley-path-'))
  try {
    if (parley === undefined) writeFileSync(join(path, 'parley'), bundledParley(), { mode: 0o755 })
    else symlinkSync(parley, join(path, 'parley'))
    const { status, stdout, stderr } = spawnSync('bash', ['--norc', '-euc', commands], {
      cwd: folder,
      env: { ...env, PATH: `${path}:${env.PATH ?? process.env.PATH}` },
      encoding: 'utf8',
      input,
      // The deadline of a test ends nothing that runs in its own process.
      timeout: DEADLINE_MS,
      killSignal: 'SIGKILL',
    })
    if (status !== 0) throw new Error(`ended with ${status}:\n${commands}\n${stdout}${stderr}`)
    return stdout
  } finally {
    rmSync(path, { recursive: true })
  }
}
