import { setTimeout as sleepAlways } from 'node:timers/promises'
import { monotonicMs } from '../../platform/clock.ts'
import { type Backoff, backoffMs } from '../../queue/backoff.ts'
import { type BusyLane, listBusyLanes } from '../event-store.ts'
import { ALL_LANES, isIsolated } from '../lane.ts'
import { EVENTS_AT_ONCE, type HandleEventsDeps, handleApart, handleLanes } from './handle-events.ts'

/** Transactions at once: while the database writes one, this process reads the next. */
const CONCURRENT = 3
/** Events that come while a transaction runs wait for its end, at most so long: many small transactions cost more than few large ones. */
const BESIDE_AFTER_MS = 20
const SHORTEST_PAUSE_MS = 50
const LONGEST_PAUSE_MS = 250
const PAUSE_AFTER_FAILURE_MS = 500
/** Pauses of a lane that cannot be handled. The longest is short, since further numbers of the lane wait, too. */
const LANE_BACKOFF: Backoff = { baseMs: PAUSE_AFTER_FAILURE_MS, factor: 2, capMs: 5_000, jitter: 0 }
/** A lane with a large event rests for so many times as long as its transaction took, and at most so long. */
const REST = 2
const LONGEST_REST_MS = 250

export type InboundWorker = {
  /** New events were stored in this process. */
  wake(): void
  /** Finishes what is in hand and stops. */
  stop(): Promise<void>
}

export type InboundWorkerDeps = HandleEventsDeps & {
  onFailure: (error: unknown) => void
  /** How long a lane rests after a transaction of so many milliseconds that left items of an event. Absent: see REST. */
  restMs?: (tookMs: number) => number
  /** Runs each transaction as a span of a trace. Absent: nothing is traced. */
  traced?: <Result>(work: () => Promise<Result>) => Promise<Result>
}

/**
 * Handles stored events, some lanes at a time, until it is stopped. Any number of processes may do so at once: a lane is one
 * worker's at a time, by a lock that the database releases when the worker dies. An idle worker polls for events of other
 * processes at growing pauses of 50 to 250 ms; events of its own process wake it at once. Lanes of which something fails,
 * and isolated ones, are handled in parallel to the others, one at a time.
 *
 * Each transaction handles a bounded number of items, and its lanes are chosen when it begins, those first that were not
 * handled for the longest time: a backlog of one lane delays another by one transaction at most. A lane whose transaction left
 * items of an event rests before the next one, so that a large body leaves the processors to others for most of the time.
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

/** Starts transactions for lanes that hold events, as many as have room; undefined when the database is away. */
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

/** The transactions that run at a time. */
type Transactions = {
  hasRoom(): boolean
  /** Waits until none runs, one has ended, or the last one has run for so long that another is to start. */
  untilNext(): Promise<unknown>
  /** The lanes that none of them has, those first that were not handled for the longest time. */
  inOrder(busy: readonly BusyLane[]): BusyLane[]
  /** Starts one for each of the first groups; returns how many have started. */
  start(groups: readonly number[][]): number
  ended(): Promise<unknown>
}

/** `onEnd` is called after each. */
function startTransactions(deps: InboundWorkerDeps, apart: Apart, onEnd: () => void): Transactions {
  const running = new Set<Promise<void>>()
  const inHand = new Set<number>()
  const lastStarts = new Map<number, number>()
  const { restMs = (tookMs: number) => Math.min(REST * tookMs, LONGEST_REST_MS) } = deps
  /** Lanes that another worker had, or that rest, and until when they are left. */
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

/** The lanes that are handled one at a time, in parallel to the others. */
type Apart = { add(lane: number): void; has(lane: number): boolean; running(): Promise<void> }

/** When a lane is handled next, and how often it could not be until then. */
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

/** As many lanes together as one transaction takes: a transaction of few events costs almost as much as one of many. */
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
