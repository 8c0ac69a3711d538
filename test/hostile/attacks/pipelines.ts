import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { MOST_UNANSWERED } from '../../../src/http/connections/connections.ts'
import type { Tally } from '../tally.ts'
import { HANG_MS } from '../until-found.ts'
import type { World } from '../world.ts'
import { askUnread, connectFrom, getRequest, untilClosed } from './unread.ts'

const ADDRESS = '127.0.7.1'
const SENDERS = 10
const READERS = 20
const REQUESTS = 2_000
const PAGES = 40
const BRIEF = 10
const REFERENCE = '/openapi.json'
const STREAM = '/public/v1/events'
const UNREAD = 1_000
/** More than the service reads. */
const WRITES = 20
const PAUSE_MS = 100
/** Within it a service without the bound has read all on most machines; one with faults has more time. */
const SETTLED_MS = 2_000
const CONTROL_MS = 15_000

/** Keyless clients that send requests without waiting for an answer. */
export async function pipelineRequests({ stage }: World, tally: Tally, isBrief: boolean): Promise<void> {
  const part = isBrief ? BRIEF : 1
  const open = (path: string, count: number) => pipeline(stage.url, getRequest(path), count, tally)
  await Promise.all(Array.from({ length: SENDERS }, () => open('/public/v1/contacts', REQUESTS / part)))
  await Promise.all(Array.from({ length: READERS }, () => open(REFERENCE, PAGES / part)))
}

/** Sends all requests at once, and reads until the last one is answered. */
async function pipeline(url: string, request: string, count: number, tally: Tally): Promise<void> {
  tally.requests += count
  const socket = connectFrom(url, ADDRESS)
  const timer = setTimeout(() => socket.destroy(), HANG_MS)
  const last = request.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n')
  let answered = 0
  let rest = ''
  socket.setEncoding('latin1').on('data', (chunk: string) => {
    const text = rest + chunk
    answered += text.split('HTTP/1.1 ').length - 1
    rest = text.slice(-8)
  })
  socket.write(request.repeat(count - 1) + last)
  await once(socket, 'close')
  clearTimeout(timer)
  if (answered < count) tally.add('connections without an answer', `${answered} of ${count} pipelined requests`)
}

/** Clients that send requests and take no answer: the service closes their connections. */
export async function pipelineUnread(world: World, tally: Tally, isControl: boolean): Promise<void> {
  const bytes = getRequest(REFERENCE).repeat(UNREAD)
  const sockets = Array.from({ length: READERS }, () => askUnread(world.stage.url, ADDRESS, bytes))
  tally.requests += READERS * UNREAD
  await countUnanswered(world, tally, isControl)
  await untilClosed(sockets, tally, { name: 'pipelined requests', isControl })
}

/** Pipelines writes behind a stream, whose answer does not end: each write that is read leaves a contact. */
async function countUnanswered({ stage }: World, tally: Tally, isControl: boolean): Promise<void> {
  const { companyId, headers } = await stage.createCompany(0)
  const { authorization = '' } = headers
  const head = `POST /public/v1/contacts HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${authorization}\r\n`
  const writes = Array.from({ length: WRITES }, (_, n) => {
    const body = JSON.stringify({ email: `pipelined${n}@example.com` })
    return `${head}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
  })
  const socket = askUnread(stage.url, ADDRESS, [getRequest(STREAM, { authorization }), ...writes].join(''))
  tally.requests += writes.length + 1
  const endsAt = performance.now() + (isControl ? CONTROL_MS : SETTLED_MS)
  let read = 0
  while (performance.now() < endsAt && read + 1 <= MOST_UNANSWERED) {
    await sleep(PAUSE_MS)
    read = (await stage.db`select from contacts where company_id = ${companyId}`).length
  }
  if (read + 1 > MOST_UNANSWERED) {
    tally.add(
      'requests read beyond the bound',
      `${read} behind one without an answer, at most ${MOST_UNANSWERED} in all`,
    )
  }
  socket.destroy()
}
