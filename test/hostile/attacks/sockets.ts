import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { addressBound, connectionBound } from '../../../src/http/connections/connection-bounds.ts'
import { type Answer, type Client, createClient } from '../client.ts'
import { countHeldWith } from '../socket-table.ts'
import type { Tally } from '../tally.ts'
import { HANG_MS, untilFound } from '../until-found.ts'
import { type Company, inboundText, OPEN_FILES, type World } from '../world.ts'
import { connectFrom } from './unread.ts'

const WEBHOOK = '/public/v1/webhooks/whatsapp'
const CONTACTS = '/public/v1/contacts'
const JSON_TYPE = { 'content-type': 'application/json' }
const MIB = 1024 * 1024
/** Four bodies of this size leave less than a healthy body of what one address, or one company, may have in flight. */
const ALMOST_WHOLE = 4 * MIB - 32
const PAUSE_MS = 200
const LEAST_CALLS = 20
const BRIEF_CALLS = 5
/** A new client beside the attack, whose connections are not open yet. */
const NEWCOMER_ADDRESS = '127.0.0.12'
const POSTING_ADDRESS = '127.0.0.14'
const MANY_SOCKETS = 1_300
const SOCKET_MS = 5_000
/** 260 in a second, so that as many as MANY_SOCKETS live at the same time. */
const TOGETHER = 13
const TOGETHER_MS = 50
/** Addresses that fill the service together, each within its share. */
const HOLDERS = 6

/**
 * Healthy calls while bodies are held open, from the provider's address and with a browser key of the same company. A body
 * that the service ends is sent again, until it has ended all of the first ones and each call was made 20 times. `isBrief`: of
 * the first ones, those of one byte. `isControl`: until each call was made five times.
 */
export async function holdBodies(
  { stage, own, foreign }: World,
  provider: Client,
  address: string,
  tally: Tally,
  { isControl, isBrief }: { isControl: boolean; isBrief: boolean },
): Promise<void> {
  const browser = [`Authorization: Bearer ${own.keys.ContactsUpsert}`]
  const held = new Set<Socket>()
  let isOver = false
  let firstHeld = 0
  const hold = (bytes: number, path: string, headers: string[] = [], isFirst = true): void => {
    const socket = holdBody(stage.url, address, bytes, path, headers)
    held.add(socket)
    if (isFirst) firstHeld++
    socket.once('close', () => {
      held.delete(socket)
      if (isFirst) firstHeld--
      if (!isOver) hold(bytes, path, headers, false)
    })
  }
  for (let n = 0; n < 40; n++) hold(1, WEBHOOK)
  for (let n = 0; n < 4; n++) hold(ALMOST_WHOLE, WEBHOOK, [], !isBrief)
  for (let n = 0; n < 8; n++) hold(1, CONTACTS, browser)
  for (let n = 0; n < 4; n++) hold(ALMOST_WHOLE, CONTACTS, browser, !isBrief)

  const startedAt = performance.now()
  const hangs = () => performance.now() - startedAt > HANG_MS
  const calls = Object.entries(healthyCalls(provider, own, foreign)).map(async ([name, call]) => {
    const isEnough = (n: number) => (isControl ? n === BRIEF_CALLS : n >= LEAST_CALLS && firstHeld === 0)
    for (let n = 0; !isEnough(n) && !hangs(); n++, await sleep(PAUSE_MS)) {
      await countRefused(tally, name, call)
    }
  })
  await Promise.all(calls)
  if (firstHeld > 0 && !isControl) tally.add('connections without an answer', `${firstHeld} held bodies`)
  isOver = true
  for (const socket of held) socket.destroy()
}

/** An event of the provider, and writes of contacts with keys of servers. */
function healthyCalls(provider: Client, own: Company, foreign: Company): Record<string, () => Promise<Answer>> {
  const contact = (company: Company) =>
    provider.send({
      method: 'post',
      path: CONTACTS,
      headers: { ...JSON_TYPE, authorization: `Bearer ${company.keys.all}` },
      body: JSON.stringify({ email: `${randomBytes(6).toString('hex')}@example.com` }),
    })
  const event = () => {
    const message = inboundText(own.phoneNumberId, '393331234567', 'healthy', `wamid.${randomBytes(9).toString('hex')}`)
    return provider.send({ method: 'post', path: WEBHOOK, headers: JSON_TYPE, body: JSON.stringify(message) })
  }
  return { event, 'write of the same company': () => contact(own), 'write of another': () => contact(foreign) }
}

/** Holds a body until it is answered. */
function holdBody(url: string, address: string, bytes: number, path: string, headers: string[] = []): Socket {
  const socket = connectFrom(url, address)
  const head = [`POST ${path} HTTP/1.1`, 'Host: a', 'Content-Type: application/json', `Content-Length: ${4 * MIB}`]
  socket.once('data', () => socket.destroy())
  socket.write([...head, ...headers, '', ''].join('\r\n'))
  socket.write(Buffer.alloc(bytes, ' '))
  return socket
}

/** More connections without a request than the service may have, beside which a new client calls it. */
export async function holdConnections({ stage, own }: World, tally: Tally, round: number): Promise<void> {
  const warningsBefore = await countWarnings(stage.folder)
  const sockets: Socket[] = []
  for (let n = 0; n < 1.5 * connectionBound(OPEN_FILES); n++) {
    const socket = connectFrom(stage.url, `127.0.1.${1 + (n % HOLDERS)}`)
    sockets.push(socket)
    await Promise.race([once(socket, 'connect'), once(socket, 'close')])
  }
  const newcomer = createClient(stage.url, NEWCOMER_ADDRESS)
  const headers = { authorization: `Bearer ${own.keys.all}` }
  for (let n = 0; n < 5; n++) {
    await countRefused(tally, 'a call beside idle connections', () =>
      newcomer.send({ method: 'get', path: '/public/v1/me', headers }),
    )
  }
  for (const socket of sockets) socket.destroy()
  // Until the service has noticed that the connections have ended.
  await untilFound(() => newcomer.send({ method: 'get', path: '/healthz' }).catch(() => undefined))
  await newcomer.close()
  // One warning a minute.
  if (round > 0) return
  const isWarned = await untilFound(async () => (await countWarnings(stage.folder)) > warningsBefore || undefined)
  if (!isWarned) tally.add('log lines or rows beyond the bound', 'no warning of full connections')
}

/** Many connections of one address, each of which posts one byte and ends after 5 s. */
export async function postSingleBytes({ stage }: World, tally: Tally, isBrief: boolean): Promise<void> {
  const bound = addressBound(connectionBound(OPEN_FILES))
  const count = isBrief ? 4 * bound : MANY_SOCKETS
  tally.requests += count
  const sockets: Socket[] = []
  for (let n = 0; n < count; n += 1) {
    const socket = holdBody(stage.url, POSTING_ADDRESS, 1, WEBHOOK)
    sockets.push(socket)
    setTimeout(() => socket.destroy(), SOCKET_MS).unref()
    if (n % TOGETHER > 0) continue
    await sleep(TOGETHER_MS)
    const held = await countHeldWith(stage.service.pid, POSTING_ADDRESS)
    // Some end and begin while they are counted.
    if (held > 1.5 * bound) tally.add('connections beyond the share of an address', `${held}, at most ${bound}`)
  }
  for (const socket of sockets) socket.destroy()
}

const countWarnings = async (folder: string): Promise<number> =>
  (await readFile(join(folder, 'service.log'), 'utf8')).split('"msg":"http.connections.full"').length - 1

async function countRefused(tally: Tally, name: string, call: () => Promise<Answer>): Promise<void> {
  tally.requests++
  const answer = await call().catch((error: Error) => error)
  const isRefused = answer instanceof Error || answer.status >= 400
  if (!isRefused) return
  const evidence = answer instanceof Error ? answer.message : `${answer.status} ${answer.text.slice(0, 100)}`
  tally.add('healthy calls refused', `${name}: ${evidence}`)
}
