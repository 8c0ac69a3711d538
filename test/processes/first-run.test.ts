import { execFileSync, spawnSync } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { describe, expect, onTestFinished, test } from 'vitest'
import outboundSchema from '../../sandbox/outbound-message.schema.json' with { type: 'json' }
import { connect } from '../../src/db/connect.ts'
import { joinEmbedded } from '../../src/db/embedded/start.ts'
import { dataFolder, type ParleyProcess, processesOn, readyFolder, runParley, until } from '../parley-process.ts'

const hasScript = spawnSync('script', ['--version']).status === 0
const hasCurl = spawnSync('curl', ['--version']).status === 0
const SANDBOXED = { SANDBOX: 'on', SANDBOX_PORT: '0', LOG_LEVEL: 'silent' }

/** The lines that are left on a terminal: a step erases its line when it is painted again. */
const shownLines = (output: string): string[] =>
  output
    .trim()
    .split('\r\n')
    .map((line) => line.split('\r\u001b[2K').at(-1) ?? '')

/** The lines that a newcomer would paste. */
const linesOf = (parley: ParleyProcess): string[] =>
  parley
    .output()
    .split('\n')
    .filter((line) => line.startsWith('curl '))

const paste = (line: string) =>
  JSON.parse(execFileSync('sh', ['-c', line], { encoding: 'utf8' }).trim().split('\n').at(-1) ?? '')

async function startWithDemo(folder: string, env: Record<string, string> = {}): Promise<ParleyProcess> {
  const parley = await runParley({ DATA_DIR: folder, ...SANDBOXED, ...env })
  await parley.says('Console:')
  return parley
}

describe.skipIf(!hasScript)('a terminal', { timeout: 300_000 }, () => {
  /** As closing the window does. The process ends after its last lines, which are written to nothing. */
  async function close(parley: ParleyProcess): Promise<void> {
    const [pid] = readFileSync(`/proc/${parley.pid}/task/${parley.pid}/children`, 'utf8').split(' ')
    await parley.signal('SIGKILL')
    await until('Parley ends after its terminal', () => !existsSync(`/proc/${pid}`))
  }

  test('shows the greeting first and keeps it in view, and the log is text', async () => {
    const env = { DATA_DIR: await readyFolder(), SANDBOX: 'on', SANDBOX_PORT: '0' }
    const parley = await runParley(env, { terminal: true })
    await parley.says('WEBHOOK_ALLOW_PRIVATE is on')
    expect((await fetch(`${parley.address}/docs`)).status).toBe(200)
    const lines = shownLines(parley.output())
    const greetingAt = lines.indexOf(`Parley listens on ${parley.address}; stop it with Ctrl-C.`)
    for (const line of lines.slice(0, greetingAt)) expect(line).toMatch(/^[A-Z][a-z ]+ … \(\d+ s\)$/)
    for (const title of ['Starting the database', 'Preparing the tables', 'Starting the service']) {
      expect(parley.output()).toContain(`\r\u001b[2K${title} … (`)
    }
    expect(lines.findLast((line) => /^\w+: /.test(line))).toMatch(/^Console: {2}http/)
    expect(lines.at(-1)).toMatch(/^\d\d:\d\d:\d\d WARN WEBHOOK_ALLOW_PRIVATE is on: [^{}"]+$/)
    await close(parley)
  })

  test('that is closed stops Parley, whatever it still has to log', async () => {
    const env = { DATA_DIR: await readyFolder(), LOG_LEVEL: 'info' }
    const parley = await runParley(env, { terminal: true })
    await parley.says('Server listening')
    await close(parley)
  })
})

test.each([
  '1',
  '2',
])('the log of a service of %s processes is JSON and begins after the greeting', async (PROCESSES) => {
  const parley = await runParley({ DATA_DIR: await readyFolder(), SANDBOX: 'on', SANDBOX_PORT: '0', PROCESSES })
  for (const text of ['request.answered', 'WEBHOOK_ALLOW_PRIVATE']) await parley.says(text)
  // The last line may be half there.
  const lines = parley.output().split('\n').slice(0, -1)
  expect(lines[0]).toBe(`Parley listens on ${parley.address}; stop it with Ctrl-C.`)
  const logAt = lines.findIndex((line) => line.startsWith('{'))
  expect(lines[logAt - 1]).toMatch(/^Console: {2}http/)
  const messages = lines.slice(logAt).map((line) => JSON.parse(line))
  expect(messages).toContainEqual(
    expect.objectContaining({ level: 40, msg: expect.stringContaining('WEBHOOK_ALLOW_PRIVATE is on') }),
  )
  expect(messages).toContainEqual(
    expect.objectContaining({ level: 30, msg: expect.stringContaining('Server listening') }),
  )
  expect(await parley.signal('SIGTERM')).toBe(0)
}, 300_000)

test.skipIf(!hasCurl)(
  'a newcomer pastes the printed lines, again and again, also after a restart and after kill -9',
  async () => {
    const folder = dataFolder()
    const isOutbound = new Ajv2020({ strict: false }).compile(outboundSchema)
    let sent = 0
    for (const end of ['SIGTERM', 'SIGKILL', 'SIGTERM'] as const) {
      const parley = await startWithDemo(folder)
      const [text, template, senders] = linesOf(parley)
      const received = linesOf(parley).at(-1)
      for (let time = 0; time < 2; time++) {
        expect(paste(text!)).toMatchObject({ success: true, data: { wamid: expect.stringMatching(/^wamid\./) } })
        expect(paste(template!)).toMatchObject({ success: true, data: { wamid: expect.stringMatching(/^wamid\./) } })
        sent += 2
      }
      expect(paste(senders!)).toMatchObject({
        items: [
          {
            phoneNumber: '+44 7700 900100',
            phoneName: 'Parley Demo',
            phoneNumberId: '100000000000001',
            isPreferred: true,
          },
        ],
        pagination: { totalRecords: 1 },
      })
      const messages = paste(received!)
      expect(messages).toHaveLength(4)
      for (const { body } of messages) expect(isOutbound(body), JSON.stringify(isOutbound.errors)).toBe(true)
      await parley.signal(end)
    }
    const last = await startWithDemo(folder)
    const conversations = linesOf(last)[3]!
    const { data } = paste(conversations)
    expect(data).toHaveLength(1)
    expect(data[0]).toMatchObject({
      contact: { phone: '393331234567', name: 'Ada' },
      lastMessage: { text: 'Is it ready?', direction: 'inbound' },
    })
    const token = / -H '(Authorization: Bearer [^']+)'/.exec(conversations)![1]!
    const all = paste(
      `curl -s '${last.address}/public/v1/whatsapp/conversations/${data[0].chatId}/messages?pageSize=100' -H '${token}'`,
    )
    expect(all.data.filter(({ direction }: { direction: string }) => direction === 'outbound')).toHaveLength(sent)
    expect(await last.signal('SIGTERM')).toBe(0)
    expect(processesOn(folder)).toEqual([])
  },
  600_000,
)

test.skipIf(!hasCurl)(
  'the printed lines register one receiver and show a signed delivery, each time that they are pasted',
  async () => {
    const parley = await startWithDemo(await readyFolder(), { LOG_LEVEL: 'warn' })
    await parley.says('WEBHOOK_ALLOW_PRIVATE is on')
    const lines = linesOf(parley)
    const register = lines.find((line) => line.includes('/webhooks/registrations'))!
    const show = lines.find((line) => line.includes('/requests?limit=1'))!
    const secret = /"secret":"([^"]+)"/.exec(register)![1]!
    const shown = new Set<string>()
    for (let time = 0; time < 2; time++) {
      expect(paste(register)).toMatchObject({ status: 'active', hasSecret: true })
      const [{ headers, body }] = paste(show)
      expect(headers['x-service-signature']).toBe(createHmac('sha256', secret).update(body).digest('hex'))
      expect(JSON.parse(body).message).toMatchObject({ text: 'Is it ready?', wamid: headers['x-service-delivery'] })
      shown.add(headers['x-service-delivery'])
    }
    expect(shown.size).toBe(2)
    const registrations = paste(register.replace(/ -H 'Content-Type.*/, ''))
    expect(registrations.map(({ name }: { name: string }) => name)).toEqual(['Demo receiver', 'Shop'])
    expect(await parley.signal('SIGTERM')).toBe(0)
  },
  600_000,
)

test.skipIf(!hasCurl)(
  'the first send works behind an outgoing proxy that is down',
  async () => {
    const down = 'http://127.0.0.1:9'
    const parley = await startWithDemo(await readyFolder(), { HTTPS_PROXY: down, HTTP_PROXY: down })
    expect(paste(linesOf(parley)[0]!)).toMatchObject({ success: true })
    expect(await parley.signal('SIGTERM')).toBe(0)
  },
  600_000,
)

test('the events of the sandbox arrive although the service refuses plain HTTP', async () => {
  const folder = await readyFolder()
  const parley = await startWithDemo(folder, { BASE_URL: 'https://parley.example', TRUST_PROXY: '127.0.0.1' })
  expect((await fetch(`${parley.address}/public/v1/whatsapp/conversations`)).status).toBe(403)
  const sandboxUrl = /http:\/\/127\.0\.0\.1:\d+(?=\/sandbox\/)/.exec(parley.output())![0]
  const written = await fetch(`${sandboxUrl}/sandbox/inbound`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      phoneNumberId: '100000000000001',
      from: '393331234567',
      type: 'text',
      text: { body: 'Hello' },
    }),
  })
  expect(written.status).toBe(200)
  const { url } = await joinEmbedded(folder)
  const db = connect(url, { max: 1 })
  onTestFinished(() => db.end())
  const isThere = async () => (await db`select from messages where text = 'Hello'`).length === 1
  await until('the message is recorded', isThere)
}, 300_000)

/** Asks below /console/api as a page of the console does. */
const askConsole = (address: string, method: string, path: string, input: { body?: object; cookie?: string } = {}) =>
  fetch(`${address}/console/api${path}`, {
    method,
    headers: {
      origin: address,
      'sec-fetch-site': 'same-origin',
      'content-type': 'application/json',
      ...(input.cookie !== undefined && { cookie: input.cookie }),
    },
    ...(input.body && { body: JSON.stringify(input.body) }),
  })

test('the printed links sign in once, to the demo company and as the operator, and the session survives kill -9', async () => {
  const folder = await readyFolder()
  const first = await startWithDemo(folder)
  const codes = [...first.output().matchAll(/^\w+: +(http\S+)#code=(\S+)/gm)]
  expect(codes.map(([, page]) => page)).toEqual([`${first.address}/console/`, `${first.address}/console/phone`])
  const sessions = []
  for (const [, , code] of codes) {
    const signIn = () => askConsole(first.address, 'POST', '/session', { body: { token: code } })
    const answer = await signIn()
    sessions.push({ cookie: answer.headers.get('set-cookie')!.split(';')[0]!, body: Object(await answer.json()) })
    expect((await signIn()).status).toBe(401)
  }
  expect(sessions.map(({ body }) => [body.kind, body.name, body.company?.name])).toEqual([
    ['operator', 'Operator', undefined],
    ['company', 'Demo agent', 'Demo'],
  ])
  expect(sessions[1]!.body.features.sandboxUrl).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
  const started = await runParley(
    { DATA_DIR: folder, PORT: new URL(first.address).port },
    { args: ['console', 'link', String(sessions[1]!.body.company.id), '--name', 'Mara', '--json'] },
  )
  await started.exited
  const token = new URL(JSON.parse(started.output()).url).hash.replace('#code=', '')
  const answer = await askConsole(first.address, 'POST', '/session', { body: { token } })
  expect(await answer.json()).toMatchObject({ name: 'Mara', company: { name: 'Demo' } })
  await first.signal('SIGKILL')

  const second = await startWithDemo(folder, { PORT: new URL(first.address).port })
  for (const { cookie, body } of sessions) {
    expect(await (await askConsole(second.address, 'GET', '/session', { cookie })).json()).toMatchObject({
      kind: body.kind,
      endsAt: body.endsAt,
    })
  }
  expect(await second.signal('SIGTERM')).toBe(0)
}, 300_000)
