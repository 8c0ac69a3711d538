import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { createProject, type Project } from '../../client/test/project.ts'
import { freePort } from '../free-port.ts'
import { eventually, startTestService, uniquePhone } from '../service.ts'

const SHOP = fileURLToPath(new URL('../../examples/shop/', import.meta.url))

/** The example where a user has it: outside of the repository, with the packed client. */
let project: Project
beforeAll(async () => {
  project = await createProject({ name: 'shop', private: true, type: 'module' })
  for (const file of ['main.ts', 'orders.ts', 'order-desk.ts']) await cp(join(SHOP, file), join(project.folder, file))
}, 300_000)
afterAll(() => project.remove())

test('the shop compiles in strict TypeScript', async () => {
  const node = ['--types', 'node', '--typeRoots', project.typeRoots]
  const runnable = ['--allowImportingTsExtensions', '--erasableSyntaxOnly', '--verbatimModuleSyntax']
  expect(await project.compile('main.ts', '--module', 'nodenext', ...node, ...runnable)).toBe('')
})

test('the shop confirms an order by template, and answers the reply of the customer once', async () => {
  const service = await startTestService()
  const { key, phoneNumberId } = await service.createCompany()
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const settings = { PARLEY_URL: service.url, PARLEY_KEY: key.token, WEBHOOK_SECRET: 'a secret of the shop' }
  const shop = spawn(process.execPath, ['main.ts'], {
    cwd: project.folder,
    env: { ...process.env, ...settings, PORT: String(port), PUBLIC_URL: url },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(async () => {
    shop.kill()
    if (shop.exitCode === null) await once(shop, 'exit')
  })
  let output = ''
  shop.stdout.on('data', (chunk) => (output += chunk))
  await eventually(async () => output.includes('Orders are taken'))

  const phone = uniquePhone()
  const order = JSON.stringify({ number: 'A-10423', name: 'Ada', phone: `+${phone}` })
  for (const _ of ['first', 'repeated']) {
    expect((await fetch(`${url}/orders`, { method: 'POST', body: order })).status).toBe(201)
  }
  const refused = JSON.stringify({ number: 'A-2', name: 'Bo', phone: '12' })
  expect((await fetch(`${url}/orders`, { method: 'POST', body: refused })).status).toBe(422)

  const inbound = { phoneNumberId, from: phone, id: 'wamid.CANCEL', type: 'text', text: { body: 'Cancel it please' } }
  for (const _ of ['first', 'repeated']) await service.control('POST', '/inbound', inbound)
  type Sent = { to: string; body: { type: string; text?: { body: string } } }
  const sent = async (): Promise<Sent[]> =>
    (await service.control('GET', '/messages?limit=500')).body.filter(({ to }: Sent) => to.endsWith(phone))
  await eventually(async () => (await sent()).length >= 2)
  const kinds = (await sent()).map(({ body }) => body.text?.body ?? body.type)
  expect(kinds.sort()).toEqual(['Order A-10423 is cancelled.', 'template'])
}, 300_000)
