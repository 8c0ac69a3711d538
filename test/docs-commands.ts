import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

/** The named blocks of commands of a page: "```sh name" begins one. */
export function blocksOf(page: string): Map<string, string> {
  const text = readFileSync(join(ROOT, 'docs', page), 'utf8')
  const blocks = [...text.matchAll(/^( *)```sh (\S+)\n([\s\S]*?)^ *```$/gm)]
  return new Map(blocks.map(([, indent = '', name = '', body = '']) => [name, body.replaceAll(`\n${indent}`, '\n')]))
}

/**
 * Runs commands of a page as they stand, in a folder that has `deploy`, with `parley` on the path; returns what they print.
 *
 * @throws Error with the output when a command fails
 */
export function runCommands(commands: string, folder: string, env: Record<string, string>): string {
  const path = mkdtempSync(join(tmpdir(), 'parley-path-'))
  try {
    symlinkSync(join(ROOT, 'bin', 'parley'), join(path, 'parley'))
    const { status, stdout, stderr } = spawnSync('bash', ['--norc', '-euc', commands], {
      cwd: folder,
      env: { ...env, PATH: `${path}:${env.PATH ?? process.env.PATH}` },
      encoding: 'utf8',
    })
    if (status !== 0) throw new Error(`ended with ${status}:\n${commands}\n${stdout}${stderr}`)
    return stdout
  } finally {
    rmSync(path, { recursive: true })
  }
}
