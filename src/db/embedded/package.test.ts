import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { linkLibraries } from './package.ts'

test('the links that the install script of the package creates are created without it, once and again', async () => {
  const root = mkdtempSync(join(tmpdir(), 'parley-package-'))
  onTestFinished(() => rmSync(root, { recursive: true }))
  mkdirSync(join(root, 'native/lib'), { recursive: true })
  writeFileSync(join(root, 'native/lib/libpq.so.5.18'), 'library')
  const links = ['libpq.so', 'libpq.so.5'].map((name) => ({
    source: 'native/lib/libpq.so.5.18',
    target: `native/lib/${name}`,
  }))
  writeFileSync(join(root, 'native/pg-symlinks.json'), JSON.stringify(links))
  for (let time = 0; time < 2; time += 1) {
    await linkLibraries(root)
    for (const { target } of links) expect(readFileSync(join(root, target), 'utf8')).toBe('library')
  }
})
