import { createUnorderedList, type UnorderedItem } from '../../fair/unordered-list.ts'
import type { AppError } from '../../platform/errors.ts'

/** `client`: a key, or the address of an anonymous caller. */
export type HeldBody = UnorderedItem & {
  readonly group: string
  readonly client: string
  readonly number: number
  readonly isKnown: boolean
  bytes: number
  isComplete: boolean
  isWaiting: boolean
  readonly window: { seconds: number; bytesBefore: number }
  readonly refuse: (fault?: AppError) => void
}

export type BodyLedger = {
  open(owner: Pick<HeldBody, 'group' | 'client' | 'isKnown'>, refuse: HeldBody['refuse']): HeldBody
  incomplete(): HeldBody[]
  /** Returns false if there is no room; the body is then no longer counted. */
  add(body: HeldBody, bytes: number): boolean
  close(body: HeldBody): void
}

/** To make room, ends the oldest incomplete body of the largest client, in the group over its share or overall. */
export function createBodyLedger({ budget, groupShare }: { budget: number; groupShare: number }): BodyLedger {
  const bodies = createUnorderedList<HeldBody>()
  const groups = new Map<string, number>()
  let total = 0
  let opened = 0

  const change = (body: HeldBody, bytes: number): void => {
    body.bytes += bytes
    total += bytes
    const held = (groups.get(body.group) ?? 0) + bytes
    if (held === 0) groups.delete(body.group)
    else groups.set(body.group, held)
  }
  const close = (body: HeldBody): void => {
    if (bodies.delete(body)) change(body, -body.bytes)
  }

  const makeRoom = (body: HeldBody, among: readonly HeldBody[]): boolean => {
    const evicted = chooseEvicted(among)
    if (evicted === undefined || evicted === body || (evicted.isKnown && evicted.client === body.client)) return false
    close(evicted)
    evicted.refuse()
    return true
  }

  return {
    open: (owner, refuse) => {
      opened += 1
      const window = { seconds: 0, bytesBefore: 0 }
      const state = { bytes: 0, isComplete: false, isWaiting: false }
      const body: HeldBody = { ...owner, ...state, number: opened, window, refuse }
      bodies.add(body)
      return body
    },
    incomplete: () => [...bodies].filter(({ isComplete }) => !isComplete),
    add: (body, bytes) => {
      if (!bodies.has(body)) return true
      change(body, bytes)
      while (isOver()) {
        if (makeRoom(body, candidates())) continue
        close(body)
        return false
      }
      return true

      function isOver(): boolean {
        return total > budget || isGroupOver()
      }
      function isGroupOver(): boolean {
        return (groups.get(body.group) ?? 0) > budget * groupShare
      }
      function candidates(): HeldBody[] {
        return isGroupOver() ? [...bodies].filter(({ group }) => group === body.group) : [...bodies]
      }
    },
    close,
  }
}

/** Complete bodies count towards a client's size. */
function chooseEvicted(bodies: readonly HeldBody[]): HeldBody | undefined {
  const held = new Map<string, number>()
  for (const { client, bytes } of bodies) held.set(client, (held.get(client) ?? 0) + bytes)
  let evicted: HeldBody | undefined
  for (const body of bodies) {
    if (body.isComplete) continue
    const more = evicted === undefined ? 1 : (held.get(body.client) ?? 0) - (held.get(evicted.client) ?? 0)
    if (evicted === undefined || more > 0 || (more === 0 && body.number < evicted.number)) evicted = body
  }
  return evicted
}
