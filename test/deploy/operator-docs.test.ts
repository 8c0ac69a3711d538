import { randomBytes } from 'node:crypto'
import { cpSync, globSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { createTestDatabase } from '../database.ts'
import { dataFolder, startParley } from '../parley-process.ts'
import { blocksOf, commandsOf, countUnnamed, runCommands } from './docs-commands.ts'

const TIMEOUT = 240_000
const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const own = await createTestDatabase()
const [source, target] = [await createTestDatabase(), await createTestDatabase()]
const links = await createTestDatabase()

const settingsOf = (url: string, folder: string) => ({
  // Quoted, since the shell and systemd read the file.
  DATABASE_URL: `'${url}'`,
  ENCRYPTION_KEY: randomBytes(32).toString('base64'),
  ADMIN_TOKEN: 'operator-token-for-tests-0123456789',
  METRICS_TOKEN: 'metrics-token-of-the-tests',
  DATA_DIR: join(folder, 'data'),
})

/** A server that was set up as in docs/deploy.md: its settings in a file, and a `systemctl` that notes its calls. */
function machine(url: string, more: Record<string, string> = {}) {
  const folder = dataFolder()
  const file = join(folder, 'parley.env')
  const lines = Object.entries({ ...settingsOf(url, folder), ...more }).map(([name, value]) => `${name}=${value}\n`)
  writeFileSync(file, lines.join(''))
  mkdirSync(join(folder, 'path'))
  writeFileSync(join(folder, 'path', 'systemctl'), `#!/bin/sh\necho "$*" >> ${folder}/called\n`, { mode: 0o755 })
  const env = { HOME: folder, PATH: `${join(folder, 'path')}:${process.env.PATH}` }
  return {
    folder,
    run: (commands: string) => runCommands(commands.replaceAll('/etc/parley/parley.env', file), folder, env),
    /** The settings as they are in the file now. */
    settings: (): Record<string, string> =>
      Object.fromEntries(
        readFileSync(file, 'utf8')
          .trim()
          .split('\n')
          .map((line) => line.replaceAll("'", '').split(/=(.*)/s)),
      ),
    called: () => readFileSync(join(folder, 'called'), 'utf8'),
  }
}

const LOAD = commandsOf('operating.md', ['settings'])

test(
  'the commands of docs/operating.md show the state of a service and replace its encryption key',
  async () => {
    const { run, settings, called } = machine(own.url)
    const page = (...names: string[]) => `${LOAD}\n${commandsOf('operating.md', names)}`
    const first = await startParley(settings())
    expect(run(LOAD)).toContain('doctor')
    // The database of the tests does without fsync, which doctor reports.
    expect(run(page('doctor').replace('parley doctor', 'parley doctor || [ $? = 1 ]'))).toMatch(/^ok +settings/m)
    run(page('given-up'))
    expect(run(page('retry-events'))).toMatch(/^count +0$/m)
    const port = new URL(first.address).port
    expect(run(page('health').replaceAll('127.0.0.1:3000', `127.0.0.1:${port}`))).toContain('parley_build_info{')

    const smtp = 'smtp://u:p@mail.example.com'
    run(`${LOAD}\nparley company create Acme\nparley email-settings set 1 --from a@example.com --smtp-url ${smtp}`)
    run(commandsOf('operating.md', ['new-key']))
    await first.signal('SIGTERM')
    const second = await startParley(settings())
    expect(run(commandsOf('operating.md', ['reseal']))).toMatch(/^resealed +[1-9]/m)
    run(commandsOf('operating.md', ['old-key']))
    expect(settings().ENCRYPTION_KEY).toMatch(/^[^,]{44}$/)
    await second.signal('SIGTERM')
    const third = await startParley(settings())
    expect(run(`${LOAD}\nparley email-settings show 1`)).toContain('smtp://')
    expect(await third.signal('SIGTERM')).toBe(0)
    expect(called()).toBe('restart parley\nrestart parley\n')
    const ran = ['settings', 'doctor', 'given-up', 'retry-events', 'health', 'new-key', 'reseal', 'old-key']
    expect([...blocksOf('operating.md').keys()]).toEqual(ran)
  },
  TIMEOUT,
)

test(
  'the commands of docs/scaling.md move a company to another installation, or open it again',
  async () => {
    const [from, to] = [machine(source.url), machine(target.url, { CELL: '1' })]
    const load = LOAD.replace('parley --help', '')
    const page = (name: string, id: string) =>
      `${load}\nPASSPHRASE='a passphrase of the move'\n${commandsOf('scaling.md', [name]).replaceAll('7', id)}`
    const create = () => /^id +(\d+)$/m.exec(from.run(`${load}\nparley company create Acme`))?.[1] ?? ''
    const [moved, kept] = [create(), create()]
    // Both exports wait until nothing of their company runs: together.
    from.run(`(${page('export', moved)}) & one=$!\n(${page('export', kept)}) & other=$!\nwait $one && wait $other`)
    from.run(page('reopen', kept))
    expect(readdirSync(from.folder).filter((name) => name.endsWith('.ndjson'))).toEqual([`company-${moved}.ndjson`])
    cpSync(join(from.folder, `company-${moved}.ndjson`), join(to.folder, `company-${moved}.ndjson`))
    to.run(page('import', moved))
    from.run(page('release', moved))
    expect(from.run(`${load}\nparley company list`)).not.toMatch(new RegExp(`^${moved} `, 'm'))
    expect(from.run(`${load}\nparley company show ${kept}`)).toContain('Acme')
    expect(to.run(`${load}\nparley company show ${moved}`)).toContain('Acme')
    expect([...blocksOf('scaling.md').keys()]).toEqual(['export', 'import', 'release', 'reopen'])
  },
  TIMEOUT,
)

test(
  'the commands of docs/console.md create links that sign in',
  async () => {
    const { run, settings } = machine(links.url)
    const parley = await startParley(settings())
    const load = LOAD.replace('parley --help', `export BASE_URL=${parley.address}`)
    const company = /^id +(\d+)$/m.exec(run(`${load}\nparley company create Acme`))?.[1] ?? ''
    const key = run(`${load}\nparley key create ${company} --name Office --permissions WhatsApp`)
    const token = /^token +(\S+)$/m.exec(key)?.[1] ?? ''
    const link = commandsOf('console.md', ['link']).replace('https://parley.example.com', parley.address)
    expect(run(`TOKEN=${token}\n${link}`)).toMatch(/^\{"url":"http:\/\/127.0.0.1:\d+\/console\/inbox#code=/)
    const byOperator = commandsOf('console.md', ['operator-link']).replace('link 1', `link ${company}`)
    expect(run(`${load}\n${byOperator}`).match(/#code=\S+/g)).toHaveLength(2)
    expect([...blocksOf('console.md').keys()]).toEqual(['link', 'operator-link'])
  },
  TIMEOUT,
)

test('a command without the settings of the service says so and creates nothing', () => {
  const folder = dataFolder()
  expect(runCommands('parley company list 2>&1 || true', folder, { HOME: folder })).toMatch(
    /^error: There is no database in .*\/data: give the command the settings of the service \(DATABASE_URL, or DATA_DIR\)/,
  )
  expect(readdirSync(folder)).toEqual([])
})

test('every command in a page for operators has a name, by which a test runs it', () => {
  const [, section = ''] = readFileSync(join(ROOT, 'docs/README.md'), 'utf8').split('## Operators')
  const [operators = ''] = section.split('\n## ')
  const pages = [...operators.matchAll(/\]\((\S+\.md)\)/g)].map(([, page = '']) => page)
  expect(pages).toEqual(expect.arrayContaining(['deploy.md', 'operating.md', 'connecting.md', 'security.md']))
  expect(pages.filter((page) => countUnnamed(page) > 0)).toEqual([])
  const tests = globSync('test/**/*.test.ts', { cwd: ROOT }).map((file) => readFileSync(join(ROOT, file), 'utf8'))
  const isRun = (page: string) => tests.some((text) => text.includes(`blocksOf('${page}')`))
  expect(pages.filter((page) => blocksOf(page).size > 0 && !isRun(page))).toEqual([])
})
