import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'

const COMMAND = fileURLToPath(new URL('../../bin/parley', import.meta.url))

/** An installed package on a machine whose `node` says that it is of this version; undefined: it has none. */
function run(version: string | undefined) {
  const folder = mkdtempSync(join(tmpdir(), 'parley-bin-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'path')
  for (const name of ['path', 'bin', 'dist']) mkdirSync(join(folder, name))
  cpSync(COMMAND, join(folder, 'bin', 'parley'))
  for (const name of ['sh', 'dirname', 'readlink']) {
    symlinkSync(execFileSync('which', [name], { encoding: 'utf8' }).trim(), join(path, name))
  }
  if (version !== undefined) {
    const node = join(path, 'node')
    writeFileSync(node, `#!/bin/sh\n[ "$1" = --version ] && echo ${version} || echo "ran $*"\n`)
    chmodSync(node, 0o755)
  }
  return spawnSync(join(folder, 'bin', 'parley'), ['start'], { env: { PATH: path }, encoding: 'utf8' })
}

test.each(['v20.20.2', 'v23.11.1', 'v8.17.0', undefined])('with Node %s the command names what it needs', (version) => {
  const { status, stderr } = run(version)
  expect(status).toBe(1)
  expect(stderr).toBe(
    `Parley needs Node 24 or later, and the PATH has ${version ?? 'no Node'}: install it (https://nodejs.org/en/download)\n`,
  )
})

test.each(['v24.0.0', 'v26.1.0', 'v100.0.0'])('with Node %s the command starts dist', (version) => {
  const { status, stdout } = run(version)
  expect(status).toBe(0)
  expect(stdout).toMatch(/^ran .*dist\/src\/main\.js start\n$/)
})

test('in a clone the command runs dist, and the sources when one is newer', () => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-bin-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const at = (...names: string[]) => join(folder, ...names)
  for (const name of ['bin', 'src', 'sandbox', 'migrations', 'dist']) mkdirSync(at(name))
  mkdirSync(at('node_modules', '.bin'), { recursive: true })
  cpSync(COMMAND, at('bin', 'parley'))
  writeFileSync(at('node_modules', '.bin', 'node'), '#!/bin/sh\necho "ran $*"\n', { mode: 0o755 })
  for (const name of ['package.json', join('src', 'main.ts'), join('dist', '.stamp')]) writeFileSync(at(name), '')
  const start = () => spawnSync(at('bin', 'parley'), ['start'], { encoding: 'utf8' }).stdout
  const touch = (path: string, seconds: number) => utimesSync(path, seconds, seconds)
  const old = Date.now() / 1_000 - 3_600
  for (const name of ['package.json', 'src', 'src/main.ts', 'sandbox', 'migrations']) touch(at(name), old)
  expect(start()).toMatch(/dist\/src\/main\.js start\n$/)
  touch(at('src', 'main.ts'), Date.now() / 1_000 + 3_600)
  expect(start()).toMatch(/ran .*\/src\/main\.ts start\n$/)
  touch(at('src', 'main.ts'), old)
  rmSync(at('dist', '.stamp'))
  expect(start()).toMatch(/ran .*\/src\/main\.ts start\n$/)
})
