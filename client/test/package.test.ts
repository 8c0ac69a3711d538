import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestService } from '../../test/service.ts'
import { createProject, type Project } from './project.ts'

let project: Project
beforeAll(async () => {
  project = await createProject()
}, 900_000)
afterAll(() => project.remove())

const compile = (file: string, ...options: string[]) =>
  project.compile(file, '--types', '', '--lib', 'es2022,dom', ...options)

describe('the package', () => {
  test('has no dependency and less than 15 kB of code, compressed', () => {
    const installed = join(project.folder, 'node_modules/@parley/client')
    const { dependencies, peerDependencies } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'))
    expect([dependencies, peerDependencies]).toEqual([undefined, undefined])
    const files = globSync('dist/esm/**/*.js', { cwd: installed })
    const code = files.map((file) => readFileSync(join(installed, file), 'utf8')).join('')
    expect(code).toContain('sendWhatsAppMessage')
    expect(gzipSync(code).length).toBeLessThan(15_000)
  })

  test('is imported by an ES module, which calls the service', async () => {
    const service = await startTestService()
    const { key } = await service.createCompany()
    const options = JSON.stringify({ baseUrl: service.url, apiKey: key.token })
    const file = await project.write(
      'shop.mjs',
      `import { Parley, ParleyError } from '@parley/client'
const parley = new Parley(${options})
const { items } = await parley.listSenders()
const refusal = await parley.getContact({ id: 1 }).catch((error) => error)
console.log(items.length, refusal instanceof ParleyError, refusal.code)`,
    )
    expect(await project.run(process.execPath, [file])).toBe('1 true not_found\n')
  })

  test('is required by CommonJS', async () => {
    const file = await project.write(
      'shop.cjs',
      `const { Parley, ParleyError, verifyWebhook } = require('@parley/client')
console.log(typeof Parley, typeof verifyWebhook, new ParleyError('No', { code: 'timeout' }) instanceof ParleyError)
import('@parley/client').then((other) => console.log(new other.ParleyError('No', { code: 'timeout' }) instanceof ParleyError))`,
    )
    expect(await project.run(process.execPath, [file])).toBe('function function true\ntrue\n')
  })
})

describe('its types, in strict TypeScript', () => {
  const SHOP = `import { type Contact, Parley, ParleyError, type SendRequest, webhooks } from '@parley/client'

export async function greet(parley: Parley, recipient: string): Promise<string | null> {
  try {
    const { data } = await parley.sendWhatsAppMessage({ recipient, type: 'text', text: 'Hello' })
    const id: number = data.chatId
    for await (const message of parley.allMessages({ chatId: id })) console.log(message.text, message.status)
    return data.wamid
  } catch (error) {
    if (!(error instanceof ParleyError)) throw error
    if (error.code === 'session_window_closed') return error.details.remedy
    if (error.code === 'parameter_mismatch') return String(error.details.expected)
    if (error.code === 'validation_error') return error.details.fields.map(({ path }) => path).join()
    return null
  }
}
export async function read(body: string, headers: Headers): Promise<string | Contact | null> {
  const received = await webhooks.unwrap(body, headers, 'secret')
  if (received.event === 'whatsapp.message.received') return received.message.wamid
  if (received.event === 'contact.changed') return received.data
  return received.event === 'whatsapp.message.status' ? received.data.wamid : received.id
}
export const requests: SendRequest[] = [
  { recipient: '393331234567', type: 'image', media: { link: 'https://shop.example.com/1.png', caption: 'Blue' } },
  { recipient: '393331234567', type: 'template', template: { name: 'order_update', languageCode: 'en_US' } },
]
`

  test.each([
    ['an ES module', 'shop.mts', ['--module', 'nodenext']],
    ['CommonJS', 'shop.cts', ['--module', 'node16']],
    ['a bundler', 'shop.ts', ['--module', 'esnext', '--moduleResolution', 'bundler']],
  ])('compile in %s', async (_, name, options) => {
    const file = await project.write(name, SHOP)
    expect(await compile(file, ...options)).toBe('')
  })

  test('refuse what the API refuses', async () => {
    const file = await project.write(
      'wrong.mts',
      `import { type Parley, ParleyError, type SendRequest } from '@parley/client'
export async function wrong(parley: Parley, error: unknown): Promise<void> {
  const media = { link: 'https://shop.example.com/1.png' }
  const text = { recipient: '393331234567', type: 'text', text: 'Hello', media } as const
  // @ts-expect-error a text has no media
  await parley.sendWhatsAppMessage({ recipient: '393331234567', type: 'text', text: 'Hello', media })
  // @ts-expect-error not by a detour either
  await parley.sendWhatsAppMessage(text)
  // @ts-expect-error media come from a link or from the provider
  await parley.sendWhatsAppMessage({ recipient: '393331234567', type: 'image', media: { ...media, providerMediaId: '77' } })
  // @ts-expect-error an image needs media
  export_({ recipient: '393331234567', type: 'image' })
  // @ts-expect-error an order that the list does not have
  await parley.listContacts({ sort: 'name' })
  // @ts-expect-error the id is missing
  await parley.getContact({})
  if (error instanceof ParleyError && error.code === 'session_window_closed') {
    // @ts-expect-error these details are not those of validation_error
    error.details.fields
  }
  // @ts-expect-error no such code
  if (error instanceof ParleyError && error.code === 'window_closed') throw error
}
declare function export_(request: SendRequest): void
`,
    )
    expect(await compile(file, '--module', 'nodenext')).toBe('')
  })
})
