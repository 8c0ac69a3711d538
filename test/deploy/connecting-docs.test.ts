import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { WEBHOOK_FIELDS } from '../../src/providers/meta/meta.ts'
import { createTestDatabase } from '../database.ts'
import { freePort } from '../free-port.ts'
import { dataFolder, type ParleyProcess, startParley, until } from '../parley-process.ts'
import { blocksOf, commandsOf, runCommands } from './docs-commands.ts'

const TIMEOUT = 240_000
const SECRET = 'a-secret-of-16-or-more'
const ACCOUNT = '102290129340398'
const APP = { id: '0f8fad5b-d9cb-469f-a165-70867728950e', name: 'AcmeShop' }
const database = await createTestDatabase()
const cleanups: (() => void)[] = []
const whenDone = (clean: () => void) => cleanups.push(clean)
let parley: ParleyProcess
let sandbox = ''
let folder = ''
let key = ''

/** The page's providers and files are those of this machine. The sandbox knows a number of 360dialog by its key. */
const here = (commands: string) =>
  commands
    .replace('/etc/parley/parley.env', join(folder, 'parley.env'))
    .replaceAll('http://127.0.0.1:3001', sandbox)
    .replaceAll('https://waba-v2.360dialog.io', `${sandbox}/dialog360`)
    .replaceAll('https://partner.gupshup.io', `${sandbox}/gupshup`)
    .replace(/(?=--access-token - --app-secret)/, `--api-base-url ${sandbox} `)
    .replace(/(?<=--provider dialog360 [^|]*102290129340398 )/, `--api-base-url ${sandbox}/dialog360 `)
    .replace(/(?=--app-id "\$APP_ID")/, `--api-base-url ${sandbox}/gupshup/partner/app/${APP.id} `)

const run = (names: string[], before = '') =>
  runCommands(
    `exec 2>&1\n${before}\n${here(commandsOf('connecting.md', names))}`,
    folder,
    { HOME: folder },
    { input: `sk_of_106540352242923\n${SECRET}\n` },
  )

const control = async (method: string, path: string, body: object) => {
  const headers = { 'content-type': 'application/json' }
  const answer = await fetch(`${sandbox}/sandbox/${path}`, { method, headers, body: JSON.stringify(body) })
  expect(answer.status).toBe(200)
}

beforeAll(async () => {
  folder = dataFolder(undefined, whenDone)
  const sandboxPort = String(await freePort())
  const settings = {
    DATABASE_URL: database.url,
    ENCRYPTION_KEY: Buffer.alloc(32).toString('base64'),
    ADMIN_TOKEN: 'operator-token-for-tests-0123456789',
    WHATSAPP_VERIFY_TOKEN: 'verify-token-of-tests',
    SANDBOX: 'on',
    SANDBOX_PORT: sandboxPort,
    DATA_DIR: join(folder, 'data'),
  }
  parley = await startParley(settings, { whenDone })
  sandbox = `http://127.0.0.1:${sandboxPort}`
  const lines = Object.entries({ ...settings, BASE_URL: parley.address }).map(([name, value]) => `${name}='${value}'`)
  writeFileSync(join(folder, 'parley.env'), lines.join('\n'))
  const number = { wabaAccountId: ACCOUNT, displayPhoneNumber: '+1 555 010 0001', verifiedName: 'Acme' }
  await control('POST', 'numbers', { ...number, phoneNumberId: '106540352242922' })
  await control('POST', 'numbers', { ...number, phoneNumberId: '106540352242923' })
  await control('POST', 'numbers', { ...number, phoneNumberId: '106540352242924', app: APP })
  await control('PUT', 'webhook', { url: `${parley.address}/public/v1/webhooks/whatsapp`, appSecret: SECRET })
  const printed = run(['settings', 'company'])
  expect(printed).toMatch(/^id +1$/m)
  key = /^token +(\S+)$/m.exec(printed)?.[1] ?? ''
  return () => cleanups.forEach((clean) => void clean())
}, TIMEOUT)

test(
  'the commands of docs/connecting.md connect a number through each provider, and its events come',
  async () => {
    const connect = ['meta', 'dialog360', 'dialog360-webhook', 'gupshup', 'gupshup-webhook']
    const printed = run(['settings', 'secrets', ...connect])
    for (const provider of ['meta', 'dialog360', 'gupshup'])
      expect(printed).toContain(`credential: accepted by ${provider}`)
    expect(printed.match(/^events: only those that prove the secret are taken$/gm)).toHaveLength(3)
    // 360dialog and Gupshup make no handshake.
    expect(printed.match(/^verify token: set$/gm)).toHaveLength(1)
    for (const phoneNumberId of ['106540352242922', '106540352242923', '106540352242924'])
      await control('POST', 'inbound', { phoneNumberId, from: '393331234567', type: 'text', text: { body: 'Hi' } })
    await until('the three customers’ messages are in', async () => (await countConversations()) === 3)
  },
  TIMEOUT,
)

test(
  'the commands of docs/connecting.md for the sandbox connect and send as they stand',
  async () => {
    const names = ['sandbox-numbers', 'sandbox-meta', 'sandbox-dialog360', 'sandbox-gupshup', 'sandbox-send']
    const printed = run(['settings', ...names], `KEY=${key}`)
    expect(printed.match(/^templates: [1-9][0-9]* read from the provider$/gm)).toHaveLength(3)
    expect(printed.match(/"success":true,"chatId"/g)).toHaveLength(3)
    expect(run(['settings', 'secrets', 'marketing', 'change'])).toContain('throughputPerSecond')
  },
  TIMEOUT,
)

test('a credential that the provider refuses is reported with its message and details', () => {
  const connect = here(commandsOf('connecting.md', ['sandbox-meta'])).replace('echo sandbox', 'echo refused')
  const printed = runCommands(
    `exec 2>&1; set +e\n${here(commandsOf('connecting.md', ['settings']))}\n${connect}\ntrue`,
    folder,
    {
      HOME: folder,
    },
  )
  expect(printed).toContain(
    'accessToken is refused by the provider: 190: (#190) Invalid OAuth access token: The session is invalid',
  )
})

test('no command of docs/connecting.md is left out', () => {
  const run = ['settings', 'company', 'secrets', 'meta', 'dialog360', 'dialog360-webhook', 'gupshup', 'gupshup-webhook']
  const tried = [
    'sandbox-numbers',
    'sandbox-meta',
    'sandbox-dialog360',
    'sandbox-gupshup',
    'sandbox-send',
    'marketing',
    'change',
  ]
  expect([...blocksOf('connecting.md').keys()]).toEqual([...run, ...tried])
})

async function countConversations(): Promise<number> {
  const headers = { authorization: `Bearer ${key}` }
  const answer = await fetch(`${parley.address}/public/v1/whatsapp/conversations`, { headers })
  const { data } = (await answer.json()) as { data: unknown[] }
  return data.length
}

test('the page names the webhook fields of webhookSteps', () => {
  const page = readFileSync(new URL('../../docs/connecting.md', import.meta.url), 'utf8')
  const [, listed = ''] = /and subscribe to\n([\s\S]*?), as `webhookSteps`/.exec(page) ?? []
  expect([...listed.matchAll(/`(\w+)`/g)].map(([, field]) => field)).toEqual(WEBHOOK_FIELDS)
})
