import { LRUCache } from 'lru-cache'
import { createFairPace, type Turn } from '../../fair/fair-pace.ts'
import { monotonicMs } from '../../platform/clock.ts'

/** Bytes of a body that are read at once, and at each of its turns. */
export const TURN_BYTES = 64 * 1024
const MIB = 1024 * 1024

/** Of all clients together whose bodies nothing proves, and of each address that has proven a body within the hour. */
const OF_UNPROVEN: Pace = { bytesPerSecond: 2 * MIB, burstBytes: MIB }
/** Of each company. The burst is a whole body of most routes. */
const OF_COMPANY: Pace = { bytesPerSecond: MIB, burstBytes: MIB }
const PROVEN_FOR_MS = 3_600_000
/** Groups whose pace is remembered at most. */
const MOST_GROUPS = 1_000

export type Pace = { readonly bytesPerSecond: number; readonly burstBytes: number }

/** A body that is to be read on; `onTurn` is called when it may bring `TURN_BYTES` more. */
export type BodyInTurn = { readonly client: string; readonly onTurn: () => void }

export type BodyPace = {
  /** Whether the body has its turn now; otherwise it waits for it. */
  take(body: BodyInTurn): boolean
  /** The body waits no longer. */
  leave(body: BodyInTurn): void
}

type Owner = { readonly group: string; readonly client: string; readonly isKnown: boolean }

export type BodyPaces = {
  of(owner: Owner): BodyPace
  /** A body from there has proven itself. */
  noteProven(address: string): void
}

/**
 * The first 64 KiB of each body are read as they come. What is beyond is read at a bounded rate: of each company, of each
 * address that has proven a body within the hour, and of all others together. Large unproven bodies therefore wait for each
 * other, and nothing else waits for them.
 */
export function createBodyPaces(ofUnproven = OF_UNPROVEN, ofCompany = OF_COMPANY): BodyPaces {
  const paces = new LRUCache<string, BodyPace>({ max: MOST_GROUPS })
  const proven = new LRUCache<string, true>({ max: MOST_GROUPS, ttl: PROVEN_FOR_MS })
  const unproven = createBodyPace(ofUnproven)
  return {
    of: ({ group, client, isKnown }) => {
      if (!isKnown && !proven.has(client)) return unproven
      const pace = paces.get(group) ?? createBodyPace(isKnown ? ofCompany : ofUnproven)
      paces.set(group, pace)
      return pace
    },
    noteProven: (address) => void proven.set(address, true),
  }
}

/**
 * The rate at which bodies of one group are read together: turns of `TURN_BYTES`, of each client in rotation, and of a client's
 * bodies in rotation. A body between its turns is not read: its client waits, and it costs nothing.
 */
export function createBodyPace({ bytesPerSecond, burstBytes }: Pace, nowMs = monotonicMs): BodyPace {
  const pace = createFairPace<string>({ perSecond: bytesPerSecond, burst: burstBytes }, nowMs)
  const turns = new WeakMap<BodyInTurn, Turn<string>>()
  return {
    take: (body) => {
      const turn = { owner: body.client, cost: TURN_BYTES, onTurn: body.onTurn }
      turns.set(body, turn)
      return pace.take(turn)
    },
    leave: (body) => {
      const turn = turns.get(body)
      if (turn !== undefined) pace.leave(turn)
    },
  }
}
