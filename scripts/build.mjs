// Builds dist: the tree of the repository that the service needs, as plain JavaScript with source maps, since Node strips no
// types below node_modules. `npm pack` runs it and packs dist with bin and deploy.
import { spawnSync } from 'node:child_process'
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const dist = join(root, 'dist')

run('node', ['scripts/setup.mjs', 'tests'])
rmSync(dist, { recursive: true, force: true })
run(process.execPath, ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json'])
for (const folder of ['migrations', 'console/dist']) {
  cpSync(join(root, folder), join(dist, folder), { recursive: true })
}
cpSync(join(root, 'src'), join(dist, 'src'), {
  recursive: true,
  filter: (path) => ['', '.sql'].includes(extname(path)),
})
// The packages of the sandbox are not among those of the service: its bundle holds them.
const { bundle } = await import('./bundle.mjs')
await bundle({ main: 'sandbox/main.ts' }, join(dist, 'sandbox'))

const { name, version, type } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
writeFileSync(join(dist, 'package.json'), `${JSON.stringify({ name, version, type }, null, 2)}\n`)

function run(program, args) {
  const { status } = spawnSync(program, args, { cwd: root, stdio: ['ignore', 2, 2] })
  if (status !== 0) process.exit(status ?? 1)
}
