import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { join } from 'node:path'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { createToken } from '../../src/emails/tracking/tracking-token.ts'
import { createTestDatabase } from '../database.ts'
import { freePort } from '../free-port.ts'
import { dataFolder, type ParleyProcess, runParley, until } from '../parley-process.ts'
import { createCertificate } from './certificate.ts'
import { has, read } from './deploy-files.ts'
import { startNginx } from './nginx.ts'

type Answer = { status: number; body: string; headers: Record<string, unknown> }

/** A request over TLS whose certificate is not checked. */
const open = (port: number, path: string, headers: Record<string, string>, method: string) =>
  request({
    host: '127.0.0.1',
    port,
    path,
    method,
    headers: { host: 'localhost', ...headers },
    rejectUnauthorized: false,
    servername: 'localhost',
  })

function get(
  port: number,
  path: string,
  headers: Record<string, string> = {},
  body?: Buffer | string,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const call = open(port, path, headers, body === undefined ? 'GET' : 'POST')
    call.once('error', reject)
    call.once('response', (response) => {
      let text = ''
      response.on('data', (chunk) => (text += chunk))
      response.once('end', () => resolve({ status: response.statusCode ?? 0, body: text, headers: response.headers }))
    })
    call.end(body)
  })
}

const portOf = (address: string): number => Number(new URL(address).port)

const ADMIN_TOKEN = 'operator-token-for-tests-0123456789'
const database = await createTestDatabase()
const cleanups: (() => void)[] = []

describe('proxies', () => {
  let parley: ParleyProcess

  beforeAll(async () => {
    parley = await runParley(
      {
        DATABASE_URL: database.url,
        ADMIN_TOKEN,
        ENCRYPTION_KEY: Buffer.alloc(32).toString('base64'),
        TRUST_PROXY: '127.0.0.1',
        BASE_URL: 'https://localhost',
      },
      { whenDone: (clean) => cleanups.push(clean) },
    )
    await parley.says('Parley listens on')
    return () => cleanups.forEach((clean) => void clean())
  })

  test.skipIf(!has('nginx'))('deploy/nginx.conf serves Parley over TLS', async () => {
    const nginx = await startNginx([parley.address], { certificate: createCertificate() })
    onTestFinished(nginx.stop)
    await expectProxy(portOf(nginx.plainAddress), portOf(nginx.address))
  })

  test.skipIf(!has('caddy'))('deploy/Caddyfile serves Parley over TLS', async () => {
    const folder = dataFolder()
    const [http, https] = [await freePort(), await freePort()]
    const options = `{\n\tadmin off\n\tskip_install_trust\n\thttp_port ${http}\n\thttps_port ${https}\n\tlocal_certs\n}\n`
    writeFileSync(join(folder, 'Caddyfile'), options + read('deploy/Caddyfile'))
    const env = {
      PATH: process.env.PATH,
      HOME: folder,
      XDG_DATA_HOME: folder,
      HOST_NAME: 'localhost',
      UPSTREAM: new URL(parley.address).host,
    }
    const caddy = spawn('caddy', ['run', '--config', join(folder, 'Caddyfile')], { env, stdio: 'ignore' })
    onTestFinished(() => void caddy.kill('SIGKILL'))
    await expectProxy(http, https)
  })

  async function expectProxy(http: number, https: number): Promise<void> {
    await until('the proxy answers', () =>
      get(https, '/healthz').then(
        ({ status }) => status === 200,
        () => false,
      ),
    )
    const path = '/public/v1/contacts'
    // Not 403: it came over HTTPS.
    expect(await get(https, path)).toMatchObject({ status: 401 })
    expect((await get(https, '/metrics')).status).toBe(404)
    // /readyz has details for peers without a proxy only.
    expect((await get(https, '/readyz')).body).toBe('{"status":"ok"}')
    const forged = { 'x-forwarded-proto': 'http', 'x-forwarded-for': '203.0.113.9', forwarded: 'for=203.0.113.9' }
    expect((await get(https, path, forged)).status).toBe(401)
    // The console sends other hosts to its own.
    expect((await get(https, '/console/', { 'x-forwarded-host': 'evil.example' })).status).toBe(200)
    const large = Buffer.alloc(6 * 1024 * 1024, ' ')
    expect((await get(https, path, { 'content-type': 'application/json' }, large)).status).toBe(401)
    const plain = await fetch(`http://localhost:${http}${path}`, { redirect: 'manual' })
    expect([plain.status, plain.headers.get('location')]).toEqual([403, null])
    // Without the proxy the same request is plain HTTP.
    expect((await fetch(`${parley.address}${path}`)).status).toBe(403)
    const company = await createCompanyBehind(https)
    await expectLongAnswers(https, company)
    await expectTracking(https, company.id)
    await expectStream(https, company)
  }

  type Company = { id: number; authorization: string }

  async function createCompanyBehind(port: number): Promise<Company> {
    const operator = async (path: string, body: object) => {
      const headers = { 'content-type': 'application/json', authorization: `Bearer ${ADMIN_TOKEN}` }
      const answer = await get(port, `/admin/v1${path}`, headers, JSON.stringify(body))
      expect(answer.status).toBe(201)
      return JSON.parse(answer.body)
    }
    const { id } = await operator('/companies', { name: 'Acme', rateLimitPerMinute: 100_000 })
    const key = await operator(`/companies/${id}/api-keys`, {
      name: 'Shop',
      permissions: ['WhatsApp', 'Transactional'],
    })
    return { id, authorization: `Bearer ${key.token}` }
  }

  /** An upload of 2 MB, and an answer of the same size. */
  async function expectLongAnswers(port: number, { authorization }: Company): Promise<void> {
    const rows = Array.from({ length: 20_000 }, (_, n) => `${n}@example.com,${'x'.repeat(80)}\n`)
    const list = `email,first_name\n${rows.join('')}`
    const imports = '/public/v1/contacts/import'
    const headers = { authorization, 'content-type': 'text/csv' }
    const taken = JSON.parse((await get(port, imports, headers, list)).body)
    await until(
      'the list is imported',
      async () => {
        const { body } = await get(port, `/public/v1/contacts/imports/${taken.data.id}`, { authorization })
        return JSON.parse(body).data.status === 'completed'
      },
      60_000,
    )
    const exported = await get(port, '/public/v1/contacts/export', { authorization, accept: 'text/csv' })
    expect([exported.status, exported.body.match(/@example\.com/g)?.length]).toEqual([200, 20_000])
  }

  /** The pixel and a link of a mail, whose target the proxy does not change. */
  async function expectTracking(port: number, companyId: number): Promise<void> {
    const secret = randomBytes(32)
    const target = 'https://shop.example/orders?x=1&y=2'
    const [email] = await database.db<{ id: number }[]>`
      insert into emails (company_id, uid, recipient, subject, message_id, secret, is_marketing, status, completed_at)
      values (${companyId}, ${`eml_${companyId}`}, 'a@example.com', 'S', 'm', ${secret}, false, 'sent', now())
      returning id
    `
    const { id } = email!
    await database.db`insert into email_links (company_id, email_id, targets) values (${companyId}, ${id}, ${[target]})`
    const token = (use: 'open' | 'click', link: number) => createToken({ companyId, id, secret }, use, link)
    const pixel = await get(port, `/public/v1/o/${token('open', 0)}`)
    expect([pixel.status, pixel.headers['content-type']]).toEqual([200, 'image/gif'])
    const click = await get(port, `/public/v1/c/${token('click', 1)}`)
    expect([click.status, click.headers.location]).toEqual([302, target])
    const [counts] = await database.db`select open_count, click_count from emails where company_id = ${companyId}`
    expect(counts).toEqual({ openCount: 1, clickCount: 1 })
  }

  /** The live stream brings its first event and a change at once, not when a buffer of the proxy is full. */
  async function expectStream(port: number, { authorization }: Company): Promise<void> {
    const call = open(port, '/public/v1/events', { authorization, accept: 'text/event-stream' }, 'GET')
    onTestFinished(() => void call.destroy())
    call.on('error', () => {})
    let text = ''
    call.once('response', (response) => {
      response.on('error', () => {})
      response.on('data', (chunk) => (text += chunk))
    })
    call.end()
    await until('the stream is open', async () => text.includes('event: ready'), 10_000)
    const headers = { authorization, 'content-type': 'application/json' }
    await get(port, '/public/v1/contacts', headers, JSON.stringify({ email: 'live@example.com' }))
    await until('the stream brings the contact', async () => text.includes('event: contact'), 10_000)
  }
})
