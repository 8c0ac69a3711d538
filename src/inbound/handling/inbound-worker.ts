import { setTimeout as sleepAlways } from 'node:timers/promises'
import { monotonicMs } from '../../platform/clock.ts'
import { type Backoff, backoffMs } from '../../queue/job.ts'
import { ALL_LANES, type BusyLane, isIsolated, listBusyLanes } from '../event-store.ts'
import { EVENTS_AT_ONCE, type HandleEventsDeps, handleApart, handleLanes } from './handle-events.ts'

/** Concurrent transactions: this process parses while the database writes. */
const CONCURRENT = 3
/** New events wait this long: a few large transactions are cheaper than many small ones. */
const BESIDE_AFTER_MS = 20
const SHORTEST_PAUSE_MS = 50
const LONGEST_PAUSE_MS = 250
const PAUSE_AFTER_FAILURE_MS = 500
/** Backoff for a failing lane. The cap is short because other numbers share the lane. */
const LANE_BACKOFF: Backoff = { baseMs: PAUSE_AFTER_FAILURE_MS, factor: 2, capMs: 5_000, jitter: 0 }
/** A lane with a large event rests for this multiple of its transaction time, up to the maximum. */
const REST = 2
const LONGEST_REST_MS = 250

export type InboundWorker = {
  wake(): void
  stop(): Promise<void>
}

export type InboundWorkerDeps = HandleEventsDeps & {
  onFailure: (error: unknown) => void
  restMs?: (tookMs: number) => number
  traced?: <Result>(work: () => Promise<Result>) => Promise<Result>
}

/**
 * Handles stored events until stopped. Many processes can run this: a database lock gives each lane one worker and is
 * released if that worker dies. Polls every 50 to 250 ms for other processes' events. Failing and isolated lanes run
 * one at a time. Transactions pick the least recently handled lanes, so a backlog delays another lane by one
 * transaction at most. A lane with a partly handled event rests, leaving CPU to others.
 */
export function startInboundWorker(deps: InboundWorkerDeps): InboundWorker {
  let isStopping = false
  let isAwake = false
  let rouse = () => {}
  const wake = () => {
    isAwake = true
    rouse()
  }
  const sleep = (ms: number) =>
    new Promise<void>((resolve) => {
      if (isAwake || isStopping) return resolve()
      const timer = setTimeout(resolve, ms)
      rouse = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  const apart = startApart(deps, () => isStopping)
  const running = startTransactions(deps, apart, wake)

  const loop = async () => {
    let pause = SHORTEST_PAUSE_MS
    while (!isStopping) {
      await running.untilNext()
      isAwake = false
      const started = running.hasRoom() ? await startNext(deps, apart, running) : 0
      if (started === undefined) await sleepAlways(PAUSE_AFTER_FAILURE_MS)
      else if (started > 0) pause = SHORTEST_PAUSE_MS
      else {
        await sleep(pause)
        pause = Math.min(pause * 2, LONGEST_PAUSE_MS)
      }
    }
    await running.ended()
    await apart.running()
  }
  const ended = loop()
  return {
    wake,
    stop: async () => {
      isStopping = true
      wake()
      await ended
    },
  }
}

async function startNext(deps: InboundWorkerDeps, apart: Apart, running: Transactions): Promise<number | undefined> {
  try {
    const busy = await listBusyLanes(deps.db, ALL_LANES, EVENTS_AT_ONCE.limit)
    for (const { lane } of busy) if (isIsolated(lane)) apart.add(lane)
    const groups = groupLanes(running.inOrder(busy.filter(({ lane }) => !apart.has(lane))))
    return running.start(groups)
  } catch (error) {
    deps.onFailure(error)
    return undefined
  }
}

type Transactions = {
  hasRoom(): boolean
  untilNext(): Promise<unknown>
  /** Returns free lanes, least recently handled first. */
  inOrder(busy: readonly BusyLane[]): BusyLane[]
  start(groups: readonly number[][]): number
  ended(): Promise<unknown>
}

function startTransactions(deps: InboundWorkerDeps, apart: Apart, onEnd: () => void): Transactions {
  const running = new Set<Promise<void>>()
  const inHand = new Set<number>()
  const lastStarts = new Map<number, number>()
  const { restMs = (tookMs: number) => Math.min(REST * tookMs, LONGEST_REST_MS) } = deps
  const leftUntil = new Map<number, number>()
  let starts = 0
  let startedAtMs = 0

  const rest = (lanes: readonly number[], tookMs: number): void => {
    if (lanes.length === 0) return
    const untilMs = monotonicMs() + restMs(tookMs)
    for (const lane of lanes) leftUntil.set(lane, untilMs)
    if (Number.isFinite(untilMs)) setTimeout(onEnd, untilMs - monotonicMs()).unref()
  }
  const run = async (lanes: readonly number[]): Promise<void> => {
    const fromMs = monotonicMs()
    try {
      const { handled, failing, large } = await (deps.traced
        ? deps.traced(() => handleLanes(deps, lanes))
        : handleLanes(deps, lanes))
      for (const lane of failing) apart.add(lane)
      const nowMs = monotonicMs()
      if (handled === 0) for (const lane of lanes) leftUntil.set(lane, nowMs + SHORTEST_PAUSE_MS)
      rest(large, nowMs - fromMs)
    } catch (error) {
      deps.onFailure(error)
      await sleepAlways(PAUSE_AFTER_FAILURE_MS)
    } finally {
      for (const lane of lanes) inHand.delete(lane)
    }
  }
  return {
    hasRoom: () => running.size < CONCURRENT,
    untilNext: async () => {
      const waitMs = startedAtMs + BESIDE_AFTER_MS - monotonicMs()
      if (running.size > 0 && waitMs > 0) await Promise.race([...running, sleepAlways(waitMs)])
    },
    inOrder: (busy) => {
      const nowMs = monotonicMs()
      return busy
        .filter(({ lane }) => !inHand.has(lane) && (leftUntil.get(lane) ?? 0) <= nowMs)
        .toSorted((one, other) => (lastStarts.get(one.lane) ?? 0) - (lastStarts.get(other.lane) ?? 0))
    },
    start: (groups) => {
      const first = groups.slice(0, CONCURRENT - running.size)
      if (first.length > 0) startedAtMs = monotonicMs()
      for (const lanes of first) {
        starts += 1
        for (const lane of lanes) {
          inHand.add(lane)
          lastStarts.set(lane, starts)
        }
        const one = run(lanes).then(() => {
          running.delete(one)
          onEnd()
        })
        running.add(one)
      }
      return first.length
    },
    ended: () => Promise.all(running),
  }
}

type Apart = { add(lane: number): void; has(lane: number): boolean; running(): Promise<void> }

type Turn = { dueAtMs: number; failures: number }

function startApart(deps: InboundWorkerDeps, isStopping: () => boolean): Apart {
  const turns = new Map<number, Turn>()
  let running: Promise<void> | undefined

  const fail = (lane: number, failures: number, error: unknown): void => {
    deps.onFailure(error)
    turns.set(lane, { dueAtMs: monotonicMs() + backoffMs(LANE_BACKOFF, failures, 0), failures })
  }
  const handle = async (lane: number, { failures }: Turn): Promise<void> => {
    try {
      const { handled, failure } = await handleApart(deps, lane)
      if (failure !== undefined) fail(lane, handled > 0 ? 1 : failures + 1, failure)
      else if (handled > 0 && isIsolated(lane)) turns.set(lane, { dueAtMs: monotonicMs(), failures: 0 })
      else turns.delete(lane)
    } catch (error) {
      fail(lane, failures + 1, error)
    }
  }
  const run = async () => {
    while (turns.size > 0 && !isStopping()) {
      const [[lane, turn] = []] = [...turns].toSorted(([, one], [, other]) => one.dueAtMs - other.dueAtMs)
      if (lane === undefined || turn === undefined) break
      if (turn.dueAtMs > monotonicMs()) await sleepAlways(SHORTEST_PAUSE_MS)
      else await handle(lane, turn)
    }
    running = undefined
  }
  return {
    add: (lane) => {
      if (!turns.has(lane)) turns.set(lane, { dueAtMs: monotonicMs(), failures: 0 })
      running ??= run()
    },
    has: (lane) => turns.has(lane),
    running: async () => running,
  }
}

/** Fills transactions: one with few events costs almost as much as a full one. */
function groupLanes(busy: readonly BusyLane[]): number[][] {
  const groups: number[][] = []
  let room = 0
  for (const { lane, waiting } of busy) {
    if (waiting > room) {
      groups.push([])
      room = EVENTS_AT_ONCE.limit
    }
    groups.at(-1)?.push(lane)
    room -= waiting
  }
  return groups
}
