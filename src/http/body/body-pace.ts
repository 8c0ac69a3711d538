import { LRUCache } from 'lru-cache'
import { createFairPace, type Turn } from '../../fair/fair-pace.ts'
import { monotonicMs } from '../../platform/clock.ts'

/** Bytes per read, at first and at every turn. */
export const TURN_BYTES = 64 * 1024
const MIB = 1024 * 1024

/** Shared by all unproven clients; also the pace of each address proven within the hour. */
const OF_UNPROVEN: Pace = { bytesPerSecond: 2 * MIB, burstBytes: MIB }
/** Per company. The burst fits a whole body for most routes. */
const OF_COMPANY: Pace = { bytesPerSecond: MIB, burstBytes: MIB }
const PROVEN_FOR_MS = 3_600_000
const MOST_GROUPS = 1_000

export type Pace = { readonly bytesPerSecond: number; readonly burstBytes: number }

export type BodyInTurn = { readonly client: string; readonly onTurn: () => void }

export type BodyPace = {
  /** Returns false if the body must wait for its turn. */
  take(body: BodyInTurn): boolean
  leave(body: BodyInTurn): void
}

type Owner = { readonly group: string; readonly client: string; readonly isKnown: boolean }

export type BodyPaces = {
  of(owner: Owner): BodyPace
  noteProven(address: string): void
}

/**
 * Reads the first 64 KiB of each body at once, the rest at a bounded rate per company, per address proven within the
 * hour, and for all others together. So large unproven bodies delay only each other.
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

/** Reads a group's bodies in turns of `TURN_BYTES`, round robin over clients, then over a client's bodies. */
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
