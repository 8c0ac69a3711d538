import { type BusyLane, listBusyLanes } from '../event-store.ts'
import { ALL_LANES, isIsolated } from '../lane.ts'
import { EVENTS_AT_ONCE, type HandleEventsDeps, handleApart, handleLanes } from './handle-events.ts'

/** Transactions at once: while the database writes one, this process reads the next. */
const CONCURRENT = 3
/** Fewer are not worth a transaction of their own. */
const WORTH_SPLITTING = 50
const SHORTEST_PAUSE_MS = 50
const LONGEST_PAUSE_MS = 250
const PAUSE_AFTER_FAILURE_MS = 500

export type InboundWorker = {
  /** New events were stored in this process. */
  wake(): void
  /** Finishes what is in hand and stops. */
  stop(): Promise<void>
}

export type InboundWorkerDeps = HandleEventsDeps & {
  onFailure: (error: unknown) => void
  /** Runs each transaction as a span of a trace. Absent: nothing is traced. */
  traced?: <Result>(work: () => Promise<Result>) => Promise<Result>
}

/**
 * Handles stored events, some lanes at a time, until told to stop. Any number of processes may do so at once: a lane is one
 * worker's at a time, by a lock that the database releases when the worker dies. An idle worker polls for events of other
 * processes at growing pauses of 50 to 250 ms; events of its own process wake it at once. Lanes of which something fails,
 * and isolated ones, are handled beside the others, one at a time.
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

  const loop = async () => {
    let pause = SHORTEST_PAUSE_MS
    while (!isStopping) {
      isAwake = false
      const handled = await handleBusyLanes(deps, apart, () => isStopping).catch((error) => {
        deps.onFailure(error)
        return undefined
      })
      if (handled === undefined) await sleepAlways(PAUSE_AFTER_FAILURE_MS)
      else if (handled > 0) pause = SHORTEST_PAUSE_MS
      else {
        await sleep(pause)
        pause = Math.min(pause * 2, LONGEST_PAUSE_MS)
      }
    }
    await apart.running()
  }
  const running = loop()
  return {
    wake,
    stop: async () => {
      isStopping = true
      wake()
      await running
    },
  }
}

/** The lanes that are handled one at a time, beside the others. */
type Apart = { add(lane: number): void; has(lane: number): boolean; running(): Promise<void> }

function startApart(deps: InboundWorkerDeps, isStopping: () => boolean): Apart {
  const lanes = new Set<number>()
  let running: Promise<void> | undefined

  const run = async () => {
    for (let [lane] = lanes; lane !== undefined && !isStopping(); [lane] = lanes) {
      const handled = await handleApart(deps, lane).catch(async (error) => {
        deps.onFailure(error)
        await sleepAlways(PAUSE_AFTER_FAILURE_MS)
        return undefined
      })
      lanes.delete(lane)
      if (handled === undefined || (handled > 0 && isIsolated(lane))) lanes.add(lane)
    }
    running = undefined
  }
  return {
    add: (lane) => {
      lanes.add(lane)
      running ??= run()
    },
    has: (lane) => lanes.has(lane),
    running: async () => running,
  }
}

/** One round over the lanes that hold events; returns how many events were handled. */
async function handleBusyLanes(deps: InboundWorkerDeps, apart: Apart, isStopping: () => boolean): Promise<number> {
  const busy = await listBusyLanes(deps.db, ALL_LANES, EVENTS_AT_ONCE.limit)
  for (const { lane } of busy) if (isIsolated(lane)) apart.add(lane)
  const groups = groupLanes(busy.filter(({ lane }) => !apart.has(lane)))
  let handled = 0
  const drain = async () => {
    for (let lanes = groups.shift(); lanes !== undefined && !isStopping(); lanes = groups.shift()) {
      const outcome = await (deps.traced ? deps.traced(() => handleLanes(deps, lanes)) : handleLanes(deps, lanes))
      handled += outcome.handled
      for (const lane of outcome.failing) apart.add(lane)
    }
  }
  const drains = Array.from({ length: Math.min(CONCURRENT, groups.length) }, drain)
  const ends = await Promise.allSettled(drains)
  for (const end of ends) if (end.status === 'rejected') throw end.reason
  return handled
}

/** As many lanes together as one transaction takes, and work for all that run at once. */
function groupLanes(busy: readonly BusyLane[]): number[][] {
  const share = busy.reduce((sum, { waiting }) => sum + waiting, 0) / CONCURRENT
  const most = Math.min(EVENTS_AT_ONCE.limit, Math.max(WORTH_SPLITTING, share))
  const groups: number[][] = []
  let room = 0
  for (const { lane, waiting } of busy) {
    if (waiting > room) {
      groups.push([])
      room = most
    }
    groups.at(-1)?.push(lane)
    room -= waiting
  }
  return groups
}

const sleepAlways = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))
