// Builds the service and packs it into this folder, or the one after --to: `parley-<version>+<commit>.tgz`, whose name it prints.
import { execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { root } from './files.mjs'

const { to = '.' } = parseArgs({ options: { to: { type: 'string' } } }).values
execFileSync(process.execPath, [join(root, 'scripts', 'build.mjs')], { cwd: root, stdio: ['ignore', 2, 2] })
const folder = mkdtempSync(join(tmpdir(), 'parley-package-'))
try {
  const read = (path) => JSON.parse(readFileSync(join(root, path), 'utf8'))
  const { scripts: _, devDependencies: __, workspaces: ___, ...manifest } = read('package.json')
  const { version, build } = read(join('dist', 'package.json'))
  for (const name of ['bin', 'dist', 'deploy', 'LICENSE', 'README.md']) {
    cpSync(join(root, name), join(folder, name), { recursive: true })
  }
  const stamped = { ...manifest, version: `${version}+${build}` }
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(stamped, null, 2)}\n`)
  const args = ['pack', '--ignore-scripts', '--loglevel=error', '--pack-destination', resolve(to)]
  execFileSync('npm', args, {
    cwd: folder,
    stdio: ['ignore', 'inherit', 'inherit'],
    shell: process.platform === 'win32',
  })
} finally {
  rmSync(folder, { recursive: true, force: true })
}
