import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join, normalize } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { sharedBrowser } from '../../test/console/world/browser.ts'
import { startTestService } from '../../test/service.ts'
import { createProject, type Project } from './project.ts'

let project: Project
beforeAll(async () => {
  project = await createProject()
}, 300_000)
afterAll(() => project.remove())

/** The origin of a shop that serves the packed modules to browsers. */
async function startSite(): Promise<string> {
  const root = join(project.folder, 'node_modules/@parley/client/dist/esm')
  const server = createServer(async ({ url = '/' }, response) => {
    const file = url.endsWith('.js') ? await readFile(join(root, normalize(url)), 'utf8') : '<title>Shop</title>'
    response.setHeader('content-type', url.endsWith('.js') ? 'text/javascript' : 'text/html').end(file)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

test('a page in a browser writes a contact with a ContactsUpsert key, and reads typed errors', async () => {
  const service = await startTestService()
  const site = await startSite()
  const { companyId } = await service.createCompany({ isConnected: false })
  const { body: key } = await service.operator('POST', `/companies/${companyId}/api-keys`, {
    name: 'Form',
    permissions: ['ContactsUpsert'],
    allowedOrigins: [site],
  })
  const browser = await sharedBrowser()
  const page = await browser.newPage()
  onTestFinished(() => page.close())
  await page.goto(site)
  const seen = await page.evaluate(`(async () => {
    const { Parley } = await import('/index.js')
    const parley = new Parley(${JSON.stringify({ baseUrl: service.url, apiKey: key.token })})
    const { data } = await parley.upsertContacts({ email: 'ada@example.com' })
    const refusal = await parley.listContacts().catch((error) => error)
    return [data[0].email, refusal.code, refusal.requestId.slice(0, 4)]
  })()`)
  expect(seen).toEqual(['ada@example.com', 'forbidden', 'req_'])
}, 300_000)
