import { readFileSync, writeFileSync } from 'node:fs'
import { connect as connectTo } from 'node:net'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import {
  exportCompany,
  importCompany,
  type MoveDeps,
  releaseCompany,
  unlockCompany,
} from '../../src/moves/move-company.ts'
import { MOVED_TABLES } from '../../src/moves/moved-rows.ts'
import { ensureServiceSecret } from '../../src/secrets/secret-store.ts'
import { bodyOf, changeOf, textFrom, WEBHOOK } from '../provider-webhook.ts'
import { startReceiver } from '../receiver.ts'
import { eventually, startTestService, type TestService, uniquePhone, untilLocked } from '../service.ts'
import { createTestFolder } from '../temporary-folder.ts'

const PASSPHRASE = 'a passphrase of the move'
const EVENTS = ['whatsapp.message.received']
const source = await startTestService()
const target = await startTestService()
const folder = await createTestFolder()

const moveOf = ({ deps }: TestService): MoveDeps => ({ ...deps, ...deps.config, db: deps.pool })
const options = (name: string) => ({ file: join(folder, name), passphrase: PASSPHRASE, cachedSeconds: 4 })

test('a company with traffic on it moves to another installation: nothing is lost, nothing is doubled', async () => {
  // Ids of the source lie beyond those of the target's own companies.
  await source.db`select setval(pg_get_serial_sequence('companies', 'id'), 5000)`
  await target.createCompany()
  for (const { db, deps } of [source, target]) await ensureServiceSecret(db, deps.cipher, 'opt-out key')
  const receiver = await startReceiver()
  afterAll(() => receiver.close())
  const company = await source.createCompany()
  const { companyId, phoneNumberId, key } = company
  const registration = { name: 'Receiver', url: receiver.url, events: EVENTS, secret: 'a secret of 16 or more' }
  await company.api('POST', '/webhooks/registrations', registration)
  await company.api('POST', '/contacts', { email: 'ada@example.com', firstName: 'A\u2028d\u2029a' })
  // A number that JavaScript would round.
  const fields = '{"BIG": 12345678901234567890}'
  await source.db`update contacts set custom_fields = ${fields}::text::jsonb where company_id = ${companyId}`
  const link = '<a href="https://example.com/order">order</a>'
  await source.operator('PUT', `/companies/${companyId}/email-settings`, { from: 'shop@example.com' })
  await company.api('POST', '/emails', { to: 'ada@example.com', subject: 'Order', html: link })
  const [mail] = await eventually(async () => {
    const mails = (await source.control('GET', '/emails')).body
    return mails.length > 0 && mails
  })
  const customer = uniquePhone()
  await source.control('POST', '/inbound', {
    phoneNumberId,
    from: customer,
    type: 'image',
    image: { caption: 'Look' },
  })
  const first = await eventually(async () => {
    const [conversation] = (await company.api('GET', '/whatsapp/conversations')).body.data
    if (conversation === undefined) return undefined
    const [message] = (await company.api('GET', `/whatsapp/conversations/${conversation.chatId}/messages`)).body.data
    const stored = await source.db`select 1 from media where company_id = ${companyId} and state = 'stored'`
    return stored.length === 1 ? (message as { id: number; media: { url: string } }) : undefined
  })
  const {
    id: cursor,
    media: { url: mediaUrl },
  } = first
  const bytes = Buffer.from(await (await fetch(`${source.url}${new URL(mediaUrl).pathname}`)).arrayBuffer())
  expect(bytes.length).toBeGreaterThan(0)

  // The provider posts to whichever installation has the number, again and again until it is answered 200.
  let place = source
  let isOver = false
  const posted: string[] = []
  const refusals = new Set<number>()
  const posting = (async () => {
    while (!isOver) {
      const message = textFrom(customer, `${posted.length}`)
      const body = JSON.stringify(bodyOf(changeOf(phoneNumberId, { messages: [message] })))
      for (let status = 0; status !== 200; ) {
        const answer = await place.call(place.url, 'POST', WEBHOOK, body)
        status = answer.status
        if (status !== 200) {
          refusals.add(status)
          await new Promise((resume) => setTimeout(resume, 50))
        }
      }
      posted.push(message.id)
      await new Promise((resume) => setTimeout(resume, 20))
    }
  })()
  await eventually(async () => posted.length > 10)
  await exportCompany(moveOf(source), companyId, options('moved'))
  const locked = await company.api('GET', '/contacts')
  expect([locked.status, locked.headers.get('retry-after')]).toEqual([503, '30'])
  const before = await countsOf(source, companyId)

  expect(await importCompany(moveOf(target), options('moved'))).toMatchObject({ companyId })
  expect(await countsOf(target, companyId)).toEqual(before)
  await target.db`update senders set api_base_url = ${target.sandbox.url} where company_id = ${companyId}`
  target.deps.senders.drop(companyId)
  place = target
  await releaseCompany(moveOf(source), companyId)
  const left = Object.entries(await countsOf(source, companyId)).filter(([, count]) => count > 0)
  expect(left).toEqual([])
  const postedBefore = posted.length
  await eventually(async () => posted.length > postedBefore + 10)
  isOver = true
  await posting
  expect([...refusals]).toEqual([503])

  const moved = (method: string, path: string) =>
    target.call(target.url, method, `/public/v1${path}`, undefined, { authorization: `Bearer ${key.token}` })
  await eventually(async () => {
    const rows = await target.db`select 1 from messages where company_id = ${companyId} and direction = 'inbound'`
    return rows.length === posted.length + 1
  }, 300_000)
  const rows = await target.db<{ wamid: string }[]>`
    select wamid from messages where company_id = ${companyId} and type = 'text' order by id
  `
  expect(rows.map(({ wamid }) => wamid)).toEqual(posted)
  const delivered = () => receiver.received.map(({ headers }) => headers['webhook-id'])
  await eventually(async () => new Set(delivered()).size === posted.length + 1, 20_000)
  expect(delivered()).toHaveLength(posted.length + 1)

  // Addresses that were given out before.
  const media = await fetch(`${target.url}${new URL(mediaUrl).pathname}`)
  expect(Buffer.from(await media.arrayBuffer())).toEqual(bytes)
  const tracked = /href="([^"]+)"/.exec(mail.html)?.[1] ?? ''
  const click = await fetch(`${target.url}${new URL(tracked).pathname}`, { redirect: 'manual' })
  expect(click.headers.get('location')).toBe('https://example.com/order')
  const contacts = (await moved('GET', '/contacts?search=ada@example.com')).body.data
  expect(contacts).toMatchObject([{ email: 'ada@example.com', first_name: 'A\u2028d\u2029a' }])
  const storedKey = await target.db`
    select custom_fields::text as fields from contacts where company_id = ${companyId} and email = 'ada@example.com'
  `
  expect(storedKey).toEqual([{ fields }])
  const [conversation] = (await moved('GET', '/whatsapp/conversations')).body.data
  const page = await moved('GET', `/whatsapp/conversations/${conversation.chatId}/messages?after=${cursor}&pageSize=5`)
  expect([page.status, page.body.data?.length]).toEqual([200, 5])
}, 300_000)

test('an import is refused when the file is damaged, the passphrase is wrong, or the company is known, and changes nothing', async () => {
  const { companyId, api } = await source.createCompany({ isConnected: false })
  await exportCompany(moveOf(source), companyId, options('refused'))
  const wrong = { file: options('refused').file, passphrase: 'another passphrase' }
  await expect(importCompany(moveOf(target), wrong)).rejects.toThrow('The passphrase is wrong')
  await expect(importCompany(moveOf(source), options('refused'))).rejects.toThrow(
    `Company ${companyId} exists here already`,
  )
  const text = readFileSync(options('refused').file, 'utf8')
  for (const damaged of [text.slice(0, -10), text.replace('Acme', 'Acne')]) {
    writeFileSync(options('damaged').file, damaged)
    await expect(importCompany(moveOf(target), options('damaged'))).rejects.toThrow('The file is damaged')
  }
  expect(await target.db`select 1 from companies where id = ${companyId}`).toHaveLength(0)
  await expect(exportCompany(moveOf(source), companyId, options('refused'))).rejects.toThrow('exists already')

  await unlockCompany(moveOf(source), companyId)
  await eventually(async () => (await api('GET', '/contacts')).status === 200)
  await expect(releaseCompany(moveOf(source), companyId)).rejects.toThrow('is not locked: export it first')
}, 300_000)

test('an export waits for transactions that began while the company was unlocked, and holds what they wrote', async () => {
  const { companyId } = await source.createCompany({ isConnected: false })
  const mayCommit = Promise.withResolvers<void>()
  const isOpen = Promise.withResolvers<void>()
  const writing = source.deps.pool.begin(async (tx) => {
    await tx`select 1`
    isOpen.resolve()
    await mayCommit.promise
    await tx`insert into contacts (company_id, first_name, source, source_type) values (${companyId}, 'Late', 'x', 'x')`
  })
  await isOpen.promise
  let isDone = false
  const exporting = exportCompany(moveOf(source), companyId, { ...options('waits'), cachedSeconds: 1 }).then(() => {
    isDone = true
  })
  await new Promise((resume) => setTimeout(resume, 3_000))
  expect(isDone).toBe(false)
  mayCommit.resolve()
  await Promise.all([writing, exporting])
  expect(readFileSync(options('waits').file, 'utf8')).toContain('Late')
})

test('a request that was admitted before its company was locked, and whose body comes later, is answered 503', async () => {
  const { companyId, key } = await source.createCompany({ isConnected: false })
  const body = JSON.stringify({ email: 'late@example.com' })
  const { hostname, port } = new URL(source.url)
  const socket = connectTo(Number(port), hostname)
  const answer = new Promise<string>((resolve) => socket.once('data', (data) => resolve(String(data))))
  socket.write(
    `POST /public/v1/contacts HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key.token}\r\n` +
      `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body.slice(0, 5)}`,
  )
  // The key is cached as one of an unlocked company.
  await new Promise((resume) => setTimeout(resume, 500))
  await source.db`update companies set closed_at = now() where id = ${companyId}`
  await untilLocked(source, companyId)
  socket.write(body.slice(5))
  const [status, ...headers] = (await answer).split('\r\n')
  expect([status, headers]).toEqual([expect.stringContaining(' 503 '), expect.arrayContaining(['retry-after: 30'])])
  socket.destroy()
  expect(await source.db`select from contacts where company_id = ${companyId}`).toHaveLength(0)
})

async function countsOf({ db }: TestService, companyId: number): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const table of MOVED_TABLES) {
    const column = db(table === 'companies' ? 'id' : 'company_id')
    const [row] = await db<
      { count: number }[]
    >`select count(*) as count from ${db(table)} where ${column} = ${companyId}`
    counts[table] = row!.count
  }
  return counts
}
