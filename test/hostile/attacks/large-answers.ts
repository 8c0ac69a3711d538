import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { ANSWER_BOUNDS } from '../../../src/http/connections/waiting-answers.ts'
import { farEndOf, nearEndOf, openFilesOf, readSockets, type SocketTable } from '../socket-table.ts'
import type { Tally } from '../tally.ts'
import type { World } from '../world.ts'
import { askUnread, getRequest, patienceMs, untilClosed } from './unread.ts'

const ADDRESS = '127.0.9.1'
const CONTACTS = 100
const NOTE_LENGTH = 64_000
const LIST = `/public/v1/contacts?limit=${CONTACTS}`
const ANSWER_BYTES = CONTACTS * NOTE_LENGTH
const UNREAD = 55
/** Answers built between two looks at the budget must fit the memory bound on a slow machine, too. */
const BRIEF_UNREAD = 15
/** Fast enough for the slow-reader rule, so only the budget ends them; small reads keep the receive buffers small. */
const SLOWLY_READ = 12
const READ_BYTES = 20_480
const READ_EVERY_MS = 500
const MOST_WAITING = ANSWER_BOUNDS.budget * ANSWER_BOUNDS.groupShare

type Keys = { unread: string; slowlyRead: string }

/** Creates two companies with 6.4 MB contact lists and returns their keys. */
export async function createLargeLists(world: World): Promise<Keys> {
  return { unread: await createLargeList(world), slowlyRead: await createLargeList(world) }
}

async function createLargeList({ stage }: World): Promise<string> {
  const { companyId, headers } = await stage.createCompany(0)
  await stage.db`
    insert into contacts (company_id, email, email_key, source, source_type, custom_fields)
    select ${companyId}, address, address, 'x', 'x', jsonb_build_object('note', repeat('x', ${NOTE_LENGTH}::int))
    from generate_series(1, ${CONTACTS}::int) as n, lateral (select 'large' || n || '@example.com') as one (address)
  `
  await stage.db`insert into contact_changes (company_id, change) values (${companyId}, ${CONTACTS})`
  const answer = await fetch(`${stage.url}${LIST}`, { headers })
  const { length } = await answer.text()
  if (length < ANSWER_BYTES) throw new Error(`${LIST}: ${answer.status}, ${length} characters`)
  return headers.authorization ?? ''
}

/** Lists that nobody reads, and lists of another company that are read slowly. */
export async function listUnread(
  { stage }: World,
  keys: Keys,
  tally: Tally,
  { isControl, isBrief }: { isControl: boolean; isBrief: boolean },
): Promise<void> {
  // A refusal ends the connection, too.
  const ask = (authorization: string) =>
    askUnread(stage.url, ADDRESS, getRequest(LIST, { authorization, connection: 'close' }))
  const count = isBrief ? BRIEF_UNREAD : UNREAD
  tally.requests += count + SLOWLY_READ
  const unread = Array.from({ length: count }, () => ask(keys.unread))
  await untilClosed(unread, tally, { name: 'lists of contacts', isControl })
  const slow = Array.from({ length: SLOWLY_READ }, () => ask(keys.slowlyRead))
  const timer = setInterval(() => {
    for (const socket of slow) socket.read(Math.min(socket.readableLength, READ_BYTES))
  }, READ_EVERY_MS)
  try {
    await untilWithinBudget(stage.service.pid, slow, tally, isControl)
  } finally {
    clearInterval(timer)
    for (const socket of slow) socket.destroy()
  }
}

/** Waits until all answers have begun and the service holds no more of them than the budget of one company. */
async function untilWithinBudget(
  pid: number,
  sockets: readonly Socket[],
  tally: Tally,
  isControl: boolean,
): Promise<void> {
  const endsAt = performance.now() + patienceMs(isControl)
  for (;;) {
    const open = new Set(await openFilesOf(pid))
    const table = await readSockets()
    const answers = sockets.map((socket) => answerOf(table, open, socket))
    const waiting = answers.reduce((sum, { bytes }) => sum + bytes, 0)
    if (answers.every(({ hasBegun }) => hasBegun) && waiting <= MOST_WAITING) return
    if (performance.now() > endsAt) {
      return tally.add('waiting answers beyond the budget', `${waiting} bytes of one company, at most ${MOST_WAITING}`)
    }
    await sleep(100)
  }
}

/** Bytes of the answer that the service still holds: neither its system nor the client has them. */
function answerOf(table: SocketTable, open: ReadonlySet<string>, socket: Socket): { hasBegun: boolean; bytes: number } {
  const [near, far] = [nearEndOf(table, socket), farEndOf(table, socket)]
  const received = socket.bytesRead + (near?.unread ?? 0)
  const isHeld = far !== undefined && open.has(`socket:[${far.inode}]`)
  return {
    hasBegun: received > 0 || socket.destroyed,
    bytes: isHeld ? Math.max(0, ANSWER_BYTES - received - far.waiting) : 0,
  }
}
