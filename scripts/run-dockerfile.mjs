// Runs the steps of the Dockerfile without a container runtime: each stage in a folder of its own, as an unprivileged user
// when root runs it, and at the end the command of the image. Node 24 has to be on the PATH.
//   node scripts/run-dockerfile.mjs FOLDER [NAME=VALUE …]
// Settings such as DATABASE_URL are given to the service. A folder of the image, such as /data, is that folder below FOLDER.
import { spawn, spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { registryAccess } from './registry-access.ts'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const [folder = '', ...settings] = process.argv.slice(2)
const base = resolve(folder)
const ignored = readFileSync(join(root, '.dockerignore'), 'utf8').trim().split('\n')
const NETWORK = {
  ...registryAccess(),
  npm_config_cache: copyCache(),
  npm_config_prefer_offline: 'true',
}
const stages = new Map()
let stage

for (const [word, rest] of instructions()) step(word, rest)
const [program, ...args] = [...JSON.parse(stage.ENTRYPOINT), ...JSON.parse(stage.CMD)]
const env = { ...stage.env, ...Object.fromEntries(settings.map((pair) => pair.split(/=(.*)/s))) }
closeImage()
const [command, ...words] = [...asUser(), program, ...args]
const service = spawn(command, words, { cwd: stage.cwd, env, stdio: 'inherit' })
for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => service.kill(stage.STOPSIGNAL))
service.once('exit', (code) => process.exit(code ?? 1))

/** A copy of the machine's npm cache for the user of the image: packages are downloaded once, not by each stage and run. */
function copyCache() {
  const cache = join(base, 'npm')
  const known = join(process.env.npm_config_cache ?? join(homedir(), '.npm'), '_cacache')
  mkdirSync(cache, { recursive: true })
  if (existsSync(known)) cpSync(known, join(cache, '_cacache'), { recursive: true })
  chown(cache)
  return cache
}

/** One instruction a line, with continued lines joined and comments removed. */
function instructions() {
  const text = readFileSync(join(root, 'Dockerfile'), 'utf8')
    .replaceAll(/^#.*\n/gm, '')
    .replaceAll(/\\\n/g, ' ')
  return text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => [line.slice(0, line.indexOf(' ')), line.slice(line.indexOf(' ') + 1).trim()])
}

function step(word, rest) {
  if (word === 'FROM') return begin(rest)
  if (word === 'WORKDIR') stage.cwd = within(stage, rest)
  if (word === 'ENV') for (const [, name, value] of rest.matchAll(/(\w+)=(\S+)/g)) setVariable(name, value)
  if (word === 'COPY') copy(rest.split(/\s+/))
  if (word === 'RUN') run(rest)
  if (word === 'USER') stage.user = rest
  if (word === 'VOLUME') stage.volume = within(stage, rest)
  if (['ENTRYPOINT', 'CMD', 'STOPSIGNAL', 'HEALTHCHECK'].includes(word)) stage[word] = rest
  if (stage.cwd !== undefined) mkdirSync(stage.cwd, { recursive: true })
}

function begin(rest) {
  const name = / AS (\w+)$/.exec(rest)?.[1] ?? 'image'
  stage = {
    root: join(base, name),
    cwd: join(base, name),
    env: { ...NETWORK, PATH: process.env.PATH, HOME: join(base, name) },
  }
  stages.set(name, stage)
}

function within(place, path) {
  return path.startsWith('/') ? join(place.root, path) : join(place.cwd, path)
}

/** Folders in values are those of the stage; $PATH is the machine's. */
function setVariable(name, value) {
  stage.env[name] = value
    .split(':')
    .map((part) => (part === '$PATH' ? stage.env.PATH : part.startsWith('/') ? within(stage, part) : part))
    .join(':')
}

function copy(words) {
  const from = words[0]?.startsWith('--from=') ? stages.get(words.shift().slice('--from='.length)) : undefined
  const target = within(stage, words.pop())
  for (const source of words) {
    const path = from === undefined ? join(root, source) : within(from, source)
    const isWhole = source === '.' || words.length === 1
    const isCopied = (name) =>
      from !== undefined || !ignored.some((one) => name === join(root, one) || name.endsWith(`/${one}`))
    cpSync(path, isWhole && !source.includes('.json') ? target : join(target, source), {
      recursive: true,
      filter: isCopied,
    })
  }
  chown(target)
}

/** The file system of the image is read-only but for its volume. */
function closeImage() {
  if (process.getuid() === 0) spawnSync('chown', ['-R', 'root', stage.root])
  spawnSync('chmod', ['-R', 'a-w', stage.root])
  spawnSync('chmod', ['u+w', stage.volume])
  chown(stage.volume)
}

/** Everything is built by the user of the image: no other is needed. */
function chown(path) {
  if (process.getuid() === 0) spawnSync('chown', ['-R', 'nobody', path])
}

function run(line) {
  const local = line.replaceAll(/(?<=\s)\/(?=\w)/g, `${stage.root}/`).replaceAll('node:node', userName())
  chown(stage.root)
  const [command, ...words] = [...asUser(), 'sh', '-ec', local]
  const { status } = spawnSync(command, words, { cwd: stage.cwd, env: stage.env, stdio: ['ignore', 2, 2] })
  if (status !== 0) process.exit(status ?? 1)
}

function userName() {
  return process.getuid() === 0 ? 'nobody' : String(process.getuid())
}

function asUser() {
  return process.getuid() === 0 ? ['setpriv', '--reuid=nobody', '--regid=nogroup', '--clear-groups', '--'] : ['env']
}
