import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { expect, onTestFinished, test } from 'vitest'
import { buildConsole } from './world/console-page.ts'

const SCRIPTS = fileURLToPath(new URL('../../scripts', import.meta.url))
/** A program in the place of Vite that writes which command ran it. */
const VITE =
  "import { writeFileSync } from 'node:fs'\nwriteFileSync('console/dist/ran', process.env.RAN ?? 'node of the machine')\n"

/** A clone whose packages are installed, with a Node of their own or without. Returns what built the console. */
function build({ carriesNode }: { carriesNode: boolean }): string {
  const folder = mkdtempSync(join(tmpdir(), 'parley-clone-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const bin = join(folder, 'node_modules', '.bin')
  const vite = join(folder, 'node_modules', 'vite', 'bin')
  for (const path of [bin, vite, join(folder, 'console', 'dist'), join(folder, 'client', 'src')]) {
    mkdirSync(path, { recursive: true })
  }
  cpSync(SCRIPTS, join(folder, 'scripts'), { recursive: true })
  writeFileSync(join(folder, 'package-lock.json'), '{}')
  writeFileSync(join(vite, 'vite.js'), VITE)
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  if (carriesNode) {
    writeFileSync(join(bin, 'node'), `#!/bin/sh\nRAN='node of the packages' exec '${process.execPath}' "$@"\n`)
    chmodSync(join(bin, 'node'), 0o755)
  }
  const path = join(folder, 'path')
  mkdirSync(path)
  for (const [name, target] of [
    ['node', process.execPath],
    ['sh', execFileSync('which', ['sh'], { encoding: 'utf8' }).trim()],
  ] as const) {
    symlinkSync(target, join(path, name))
  }
  const { status, stderr } = spawnSync('node', ['scripts/setup.mjs', 'console'], {
    cwd: folder,
    env: { PATH: path },
    encoding: 'utf8',
  })
  expect([status, stderr]).toEqual([0, ''])
  return readFileSync(join(folder, 'console', 'dist', 'ran'), 'utf8')
}

test('the console is built by the Node of the packages', () => {
  expect(build({ carriesNode: true })).toBe('node of the packages')
})

test('after npm ci --ignore-scripts, which fetches no Node, the console is built by the Node of the machine', () => {
  expect(build({ carriesNode: false })).toBe('node of the machine')
})

test('the first load, the first inbox and each further screen stay within their sizes', () => {
  buildConsole()
  const dist = fileURLToPath(new URL('../../console/dist/', import.meta.url))
  const manifest: Record<string, { file: string; imports?: string[] }> = JSON.parse(
    readFileSync(`${dist}.vite/manifest.json`, 'utf8'),
  )
  const filesOf = (name: string, found = new Set<string>()): Set<string> => {
    const { file, imports = [] } = manifest[name]!
    found.add(file)
    for (const one of imports) filesOf(one, found)
    return found
  }
  const kilobytes = (files: Iterable<string>) =>
    [...files].reduce((sum, file) => sum + gzipSync(readFileSync(dist + file), { level: 9 }).length, 0) / 1000
  // The styles of all screens are one file.
  const shell = new Set([...filesOf('index.html'), manifest['style.css']!.file])
  const scripts = [...shell].filter((file) => file.endsWith('.js'))
  expect(kilobytes(scripts)).toBeLessThan(128)
  const inbox = new Set([...shell, ...filesOf('inbox/inbox.tsx')])
  expect(kilobytes(inbox)).toBeLessThan(200)
  const screens = [
    'contacts/contacts.tsx',
    'imports/imports.tsx',
    'fields/fields.tsx',
    'receivers/receivers.tsx',
    'phone/phone-screen.tsx',
    'operator/companies.tsx',
    'operator/events.tsx',
  ]
  for (const screen of screens) {
    expect(kilobytes([manifest[screen]!.file]), screen).toBeLessThan(40)
  }
})
