import { spawn } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { freePort } from '../free-port.ts'
import { dataFolder, type ParleyProcess, readyFolder, runParley, until } from '../parley-process.ts'
import { runCommands, unnamedBlocksOf } from './docs-commands.ts'
import { npmEnvironment } from './packages.ts'

const TIMEOUT = 600_000
const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const cleanups: (() => void)[] = []
const whenDone = (clean: () => void) => cleanups.push(clean)

let parley: ParleyProcess
let sandbox = ''
let token = ''
let folder = ''

/** The page's service is the one of this test. */
const here = (commands: string): string =>
  commands
    .replaceAll(/http:\/\/(127\.0\.0\.1|localhost):3000/g, parley.address)
    .replaceAll('http://127.0.0.1:3001', sandbox)
    .replaceAll('PARLEY-…', token)
    .replaceAll('bin/parley', 'parley')

/** Runs a block as it stands; returns what it prints. */
const run = (commands: string, env: Record<string, string> = {}) =>
  runCommands(`set -o pipefail\n${here(commands)}`.replaceAll('curl ', 'curl -f '), folder, {
    HOME: folder,
    DATA_DIR: dataDir,
    TOKEN: token,
    PARLEY_URL: parley.address,
    PARLEY_TOKEN: token,
    PARLEY_KEY: token,
    ...env,
  })

let dataDir = ''
beforeAll(async () => {
  folder = dataFolder(undefined, whenDone)
  dataDir = await readyFolder(whenDone)
  parley = await runParley({ DATA_DIR: dataDir, SANDBOX: 'on', SANDBOX_PORT: '0', LOG_LEVEL: 'silent' }, { whenDone })
  await parley.says('Console:')
  sandbox = /http:\/\/127\.0\.0\.1:\d+(?=\/sandbox\/)/.exec(parley.output())?.[0] ?? ''
  token = /^Token: +(\S+)$/m.exec(parley.output())?.[1] ?? ''
  const number = {
    phoneNumberId: '106540352242922',
    wabaAccountId: '102290129340398',
    displayPhoneNumber: '+1 555 010 0001',
    verifiedName: 'Acme',
  }
  const headers = { 'content-type': 'application/json' }
  const answer = await fetch(`${sandbox}/sandbox/numbers`, { method: 'POST', headers, body: JSON.stringify(number) })
  expect(answer.status).toBe(200)
  return async () => {
    await parley.signal('SIGTERM')
    for (const clean of cleanups) clean()
  }
}, TIMEOUT)

test(
  'the commands of README.md work on what npm start leaves',
  () => {
    const [clone, sends = '', contacts = '', emails = '', operator = '', ...others] = unnamedBlocksOf('README.md')
    expect(clone).toMatch(/^npm start .*\nnpm test .*\nnpm run test:all .*\n$/)
    expect(others).toEqual([])
    expect(run(sends).match(/wamid\.|"totalRecords":1/g)).toHaveLength(3)
    expect(run(contacts).match(/"ada@example\.com"/g)?.length).toBeGreaterThanOrEqual(3)
    expect(run(emails.replace('# A second later', 'sleep 3 # A second later'))).toContain('Your order')
    const printed = run(operator.replace('--access-token -', `--access-token - --api-base-url ${sandbox}`), {
      META_TOKEN: 'token',
    })
    expect(printed).toMatch(/^id +2$/m)
    expect(printed).toContain('106540352242922')
  },
  TIMEOUT,
)

test(
  'the commands of docs/contacts.md and docs/sending.md work',
  () => {
    writeFileSync(join(folder, 'people.csv'), 'email,first_name\nbo@example.com,Bo\n')
    const [formKey = '', imported = '', byCommand = '', exported = '', ...others] = unnamedBlocksOf('docs/contacts.md')
    expect(others).toEqual([])
    expect(run(formKey)).toMatch(/^token +PARLEY-/m)
    expect(run(imported)).toMatch(/"id":\d+/)
    expect(run(byCommand)).toMatch(/completed/)
    run(exported)
    expect(readFileSync(join(folder, 'contacts.csv'), 'utf8')).toContain('bo@example.com')
    writeFileSync(join(folder, 'shoe.jpg'), Buffer.from('ffd8ffe000104a46494600010100000100010000ffd9', 'hex'))
    const [upload = '', ...more] = unnamedBlocksOf('docs/sending.md')
    expect(more).toEqual([])
    expect(run(upload)).toContain('"mediaId":"med_')
  },
  TIMEOUT,
)

test(
  'the commands of docs/debugging.md look at a running service',
  () => {
    const [look = ''] = unnamedBlocksOf('docs/debugging.md')
    expect(look).toMatch(/^LOG_LEVEL=debug npm start /)
    expect(run(look.replace(/^.*\n/, ''))).toContain('parley_build_info{')
  },
  TIMEOUT,
)

test(
  'the commands of examples/README.md register a receiver',
  () => {
    const [register = '', ...others] = unnamedBlocksOf('examples/README.md')
    expect(others).toEqual([])
    expect(run(register)).toContain('"status":"active"')
  },
  TIMEOUT,
)

/** The folders of a clone in which only `npm start` has been run. */
function clone(): string {
  const root = dataFolder()
  for (const name of ['client', 'examples'])
    cpSync(join(ROOT, name), join(root, 'parley', name), {
      recursive: true,
      filter: (path) => !/\/(node_modules|dist|test)$|\.tgz$/.test(path),
    })
  return root
}

/** A machine's environment whose path has Node 24 and nothing of this repository's packages. */
function environmentOf(root: string): Record<string, string> {
  const path = (process.env.PATH ?? '').split(':').filter((place) => !place.includes('node_modules'))
  return { ...npmEnvironment(root), PATH: [dirname(realpathSync(process.execPath)), ...path].join(':') }
}

test(
  'the commands of client/README.md pack the client and install it in a project',
  () => {
    const root = clone()
    const env = environmentOf(root)
    mkdirSync(join(root, 'shop'))
    const [pack = '', ...others] = unnamedBlocksOf('client/README.md')
    expect(others).toEqual([])
    runCommands(pack.replace('cd client', 'cd parley/client'), root, env)
    writeFileSync(
      join(root, 'shop', 'try.mjs'),
      "import { Parley } from '@parley/client'\nconsole.log(typeof Parley)\n",
    )
    expect(runCommands('node try.mjs', join(root, 'shop'), env)).toBe('function\n')
  },
  TIMEOUT,
)

test(
  'the commands of examples/shop/README.md run the shop',
  async () => {
    const root = clone()
    const [start = '', order = '', ...others] = unnamedBlocksOf('examples/shop/README.md')
    expect(others).toEqual([])
    const port = await freePort()
    const [inRepository, ...commands] = here(start)
      .replaceAll(':4000', `:${port}`)
      .replace('PORT=4000', `PORT=${port}`)
      .split('\n')
    expect(inRepository).toMatch(/^npm start +#/)
    const shop = spawn('bash', ['--norc', '-euc', commands.join('\n')], {
      cwd: join(root, 'parley'),
      env: environmentOf(root),
      detached: true,
    })
    onTestFinished(() => {
      if (shop.exitCode === null && shop.pid !== undefined) process.kill(-shop.pid, 'SIGKILL')
    })
    let output = ''
    for (const stream of [shop.stdout, shop.stderr]) stream.on('data', (chunk) => (output += String(chunk)))
    await until('the shop takes orders', () => {
      if (shop.exitCode !== null) throw new Error(output)
      return output.includes('Orders are taken')
    })
    expect(run(order.replaceAll(':4000', `:${port}`))).toContain('A-10423')
  },
  TIMEOUT,
)
