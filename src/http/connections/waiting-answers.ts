import type { ClientConnection, Connections } from './connections.ts'
import { readUnacknowledged } from './unacknowledged.ts'

const MIB = 1024 * 1024
/** Responses built between two checks come on top of the budget. */
const LOOKS_PER_SECOND = 4

export type AnswerBounds = {
  readonly budget: number
  readonly groupShare: number
  readonly leastBytesPerSecond: number
  readonly windowSeconds: number
  readonly tickMs: number
}

export const ANSWER_BOUNDS: AnswerBounds = {
  budget: 64 * MIB,
  groupShare: 1 / 4,
  leastBytesPerSecond: 8 * 1024,
  windowSeconds: 10,
  tickMs: 1_000 / LOOKS_PER_SECOND,
}

type Owner = { readonly group: string; readonly client: string }

type Wait = {
  readonly connection: ClientConnection
  readonly number: number
  taken: number
  /** Set when nothing moves: bytes acknowledged at the window start, and checks since. */
  window: { acknowledged: number; looks: number } | undefined
}

/**
 * Ends connections that take responses too slowly; over budget, the oldest of the largest client, within a company or
 * address over its share, else overall. Checks four times a second, so quickly taken responses cost nothing.
 */
export function boundAnswers(
  connections: Connections,
  ownerOf: (connection: ClientConnection) => Owner,
  bounds: Partial<AnswerBounds> = {},
): { stop(): void } {
  const limits = { ...ANSWER_BOUNDS, ...bounds }
  const lookForWaits = createLookForWaits(connections)
  let isLooking = false
  const look = async (): Promise<void> => {
    if (isLooking) return
    isLooking = true
    try {
      const waits = lookForWaits()
      const held = waits.map(({ connection, number }) => {
        return { ...ownerOf(connection), connection, number, bytes: waitingBytes(connection) }
      })
      for (const { connection } of beyondBudget(held, limits)) connections.end(connection)
      await endSlow(connections, waits, limits)
    } finally {
      isLooking = false
    }
  }
  const timer = setInterval(() => void look(), limits.tickMs).unref()
  return { stop: () => clearInterval(timer) }
}

function createLookForWaits({ open }: Connections): () => Wait[] {
  const waits = new Map<ClientConnection, Wait>()
  let begun = 0
  return () => {
    for (const connection of waits.keys()) if (!open.has(connection)) waits.delete(connection)
    const longer: Wait[] = []
    for (const connection of open) {
      const wait = waits.get(connection)
      if (waitingBytes(connection) === 0) waits.delete(connection)
      else if (wait !== undefined) longer.push(wait)
      else {
        begun += 1
        waits.set(connection, { connection, number: begun, taken: takenBytes(connection), window: undefined })
      }
    }
    return longer
  }
}

/** Bytes not yet taken by the kernel; pipelined responses wait behind the first one. */
const waitingBytes = ({ exchanges }: ClientConnection): number =>
  exchanges.reduce((sum, { response }) => sum + response.writableLength, 0)

/** Bytes taken by the kernel, which buffers some megabytes for a client that does not read. */
function takenBytes({ socket }: ClientConnection): number {
  const handle: { bytesWritten?: number; writeQueueSize?: number } = Object(Reflect.get(socket, '_handle'))
  return (handle.bytesWritten ?? 0) - (handle.writeQueueSize ?? 0)
}

type Held = Owner & { readonly number: number; readonly bytes: number }

/** Chooses the connections to end to respect both shares and budget. A single response may exceed them. */
export function beyondBudget<One extends Held>(
  held: readonly One[],
  { budget, groupShare }: Pick<AnswerBounds, 'budget' | 'groupShare'>,
): One[] {
  const groups = [...Map.groupBy(held, ({ group }) => group).values()]
  const ended = new Set(groups.flatMap((ofGroup) => endsOf(ofGroup, budget * groupShare)))
  return [
    ...ended,
    ...endsOf(
      held.filter((one) => !ended.has(one)),
      budget,
    ),
  ]
}

function endsOf<One extends Held>(held: readonly One[], limit: number): One[] {
  let total = sumOf(held)
  if (total <= limit) return []
  const clients = [...Map.groupBy(held, ({ client }) => client).values()]
  const byMost = clients.toSorted((one, other) => sumOf(other) - sumOf(one))
  const ended: One[] = []
  for (const one of byMost.flatMap((own) => own.toSorted((a, b) => a.number - b.number))) {
    if (total <= limit || ended.length === held.length - 1) break
    total -= one.bytes
    ended.push(one)
  }
  return ended
}

const sumOf = (held: readonly Held[]): number => held.reduce((sum, { bytes }) => sum + bytes, 0)

async function endSlow(connections: Connections, waits: readonly Wait[], limits: AnswerBounds): Promise<void> {
  const { leastBytesPerSecond, windowSeconds } = limits
  const due = waits.filter((wait) => {
    // A response behind an unfinished one waits for the service, not for the client.
    if (wait.connection.socket.writableLength === 0) wait.window = undefined
    else if (wait.window !== undefined) return ++wait.window.looks >= windowSeconds * LOOKS_PER_SECOND
    const moved = takenBytes(wait.connection) - wait.taken
    wait.taken += moved
    return wait.connection.socket.writableLength > 0 && moved < leastBytesPerSecond / LOOKS_PER_SECOND
  })
  if (due.length === 0) return
  const unacknowledged = await readUnacknowledged(due.map(({ connection }) => connection.socket))
  for (const [n, wait] of due.entries()) {
    const acknowledged = takenBytes(wait.connection) - (unacknowledged[n] ?? 0)
    const { window } = wait
    const isSlow = window && acknowledged - window.acknowledged < leastBytesPerSecond * windowSeconds
    if (isSlow) connections.end(wait.connection)
    else wait.window = { acknowledged, looks: 0 }
  }
}
