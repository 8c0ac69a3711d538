import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { newProfile, sharedBrowser } from '../console/world/browser.ts'
import { freePort } from '../free-port.ts'
import { eventually, startTestService } from '../service.ts'

const EXAMPLES = new URL('../../examples/', import.meta.url).pathname
const SECRET = 'the secret of the registration'

const run = promisify(execFile)
const isAt = ({ program, version = '--version' }: Receiver) =>
  run(program, [version]).then(
    () => true,
    () => false,
  )
const service = await startTestService()

type Receiver = {
  program: string
  /** The argument that prints the version. */
  version?: string
  /** Before the start. */
  build?: (folder: string) => string[]
  command: (port: number, folder: string) => [string, ...string[]]
}
const RECEIVERS: Receiver[] = [
  { program: 'python3', command: () => ['python3', 'receiver-python/receiver.py'] },
  { program: 'php', command: (port) => ['php', '-S', `127.0.0.1:${port}`, 'receiver-php/receiver.php'] },
  {
    program: 'go',
    version: 'version',
    build: (folder) => ['build', '-o', join(folder, 'receiver'), 'receiver-go/receiver.go'],
    command: (_, folder) => [join(folder, 'receiver')],
  },
]
for (const receiver of RECEIVERS) {
  test.skipIf(!(await isAt(receiver)))(
    `the receiver in ${receiver.program} takes each signed message once, and refuses a wrong signature`,
    async () => {
      const { url, output } = await start(receiver)
      const { api, phoneNumberId } = await service.createCompany()
      const registration = {
        name: 'Receiver',
        url,
        events: ['whatsapp.message.received', 'contact.changed'],
        secret: SECRET,
      }
      const { body: registered } = await api('POST', '/webhooks/registrations', registration)
      const say = (text: string) =>
        service.control('POST', '/inbound', { phoneNumberId, from: '393331234567', type: 'text', text: { body: text } })

      await say('Is it ready?')
      await eventually(async () => output().includes('393331234567: Is it ready?'))
      await eventually(async () => output().includes('contact.changed: created '))
      const logs = await eventually(async () => {
        const { body } = await api('GET', `/webhooks/registrations/${registered.id}/logs`)
        return body.length > 1 && body
      })
      const { id } = logs.find(({ payload }: { payload: { event: string } }) => payload.event.startsWith('whatsapp'))
      const repeated = await api('POST', `/webhooks/registrations/${registered.id}/logs/${id}/redeliver`)
      expect(repeated.status).toBe(200)
      await say('Thank you')
      await eventually(async () => output().includes('Thank you'))
      expect(output().split('Is it ready?')).toHaveLength(2)

      const headers = { 'x-service-signature': '0'.repeat(64) }
      expect((await fetch(url, { method: 'POST', body: '{}', headers })).status).toBe(401)
      expect((await fetch(url, { method: 'POST', body: '{}' })).status).toBe(401)
    },
    300_000,
  )
}

async function start({ program, build, command }: Receiver) {
  const folder = await mkdtemp(join(tmpdir(), 'parley-receiver-'))
  if (build !== undefined) await run(program, build(folder), { cwd: EXAMPLES })
  const port = await freePort()
  const settings = { WEBHOOK_SECRET: SECRET, PORT: String(port), DATABASE: join(folder, 'messages.sqlite') }
  const [file, ...args] = command(port, folder)
  const receiver = spawn(file, args, {
    cwd: EXAMPLES,
    env: { PATH: process.env.PATH, ...settings, MESSAGES: join(folder, 'messages') },
  })
  onTestFinished(async () => {
    receiver.kill()
    if (receiver.exitCode === null) await once(receiver, 'exit')
    await rm(folder, { recursive: true, force: true })
  })
  let output = ''
  for (const stream of [receiver.stdout, receiver.stderr]) stream.on('data', (chunk) => (output += chunk))
  const url = `http://127.0.0.1:${port}/`
  await eventually(() =>
    fetch(url, { method: 'POST' }).then(
      () => true,
      () => false,
    ),
  )
  return { url, output: () => output }
}

test('the contact form creates a contact with consent, and shows what the service refuses', async () => {
  const { companyId, api } = await service.createCompany({ isConnected: false })
  let token = ''
  const site = createServer(async ({ url }, response) => {
    const file = url === '/form.js' ? 'form.js' : 'index.html'
    const text = await readFile(join(EXAMPLES, 'contact-form', file), 'utf8')
    const page = text
      .replace('http://127.0.0.1:3000', service.url)
      .replace('the key with the permission ContactsUpsert', token)
    response.setHeader('content-type', file === 'form.js' ? 'text/javascript' : 'text/html').end(page)
  })
  site.listen(0, '127.0.0.1')
  await once(site, 'listening')
  onTestFinished(() => void site.close())
  const origin = `http://127.0.0.1:${(site.address() as AddressInfo).port}`
  const key = { name: 'Form', permissions: ['ContactsUpsert'], allowedOrigins: [origin] }
  token = (await service.operator('POST', `/companies/${companyId}/api-keys`, key)).body.token

  const profile = await newProfile(await sharedBrowser())
  onTestFinished(() => profile.close())
  const page = await profile.newPage()
  await page.goto(origin)
  await page.getByLabel('Email', { exact: true }).fill('ada@example.com')
  await page.getByLabel('First name').fill('Ada')
  await page.getByRole('checkbox').check()
  await page.getByRole('button', { name: 'Subscribe' }).click()
  await page.getByText('Thank you. You are subscribed.').waitFor()
  const { body } = await api('GET', '/contacts/by-email/ada@example.com')
  expect(body.data).toMatchObject({ first_name: 'Ada', marketing_consent: { email: true } })

  await page.getByLabel('Email', { exact: true }).fill('ada@localhost')
  await page.getByRole('button', { name: 'Subscribe' }).click()
  await page.getByText(/email must/).waitFor()
}, 300_000)
