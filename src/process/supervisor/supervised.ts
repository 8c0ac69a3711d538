import cluster from 'node:cluster'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { explainRefusal } from '../../db/server/start-refusal.ts'
import { serviceUnavailable } from '../../platform/errors.ts'
import type { Config } from '../../platform/settings/config.ts'
import { messageOf, StartError } from '../../platform/start-error.ts'
import { createComponents } from '../components.ts'
import type { Stoppable } from '../lifecycle.ts'
import type { Shared } from '../prepare.ts'
import { type Build, serve } from '../serve.ts'
import { startErrorOf } from '../start.ts'
import type { FromWorker, ToWorker } from './worker-handle.ts'

/** Longer than the supervisor waits for the workers. */
const METRICS_DEADLINE_MS = 3_000

/** Serves as a supervisor's worker. Node ends this process with the supervisor, unless already stopping. */
export async function startSupervised(
  config: Config,
  { log, release }: { log: Logger; release: () => void },
  build: Build,
): Promise<Stoppable> {
  const supervisor = listenToSupervisor(release)
  const components = createComponents(log)
  try {
    const shared = await supervisor.shared
    const { readMetrics, listenerShare } = supervisor
    const dependencies = { log, build, components, readMetrics, listenerShare }
    const { address, registry } = await serve(config, shared, dependencies)
    supervisor.onCollect(async () => {
      if (registry) post({ type: 'collected', snapshot: await registry.getMetricsAsJSON() })
    })
    post({ type: 'ready', address })
    return { stop: components.stop, failed: new Promise(() => {}), asked: supervisor.stopped }
  } catch (error) {
    await components.stop()
    return await reportFailure(startErrorOf(error))
  }
}

function listenToSupervisor(onGreeted: () => void) {
  const shared = Promise.withResolvers<Shared>()
  const stopped = Promise.withResolvers<string>()
  let disconnected: Promise<void> = Promise.resolve()
  const reads = new Map<number, (text: string) => void>()
  let collect: () => Promise<void> = async () => {}
  let lastId = 0
  process.on('message', (message: ToWorker) => {
    if (message.type === 'serve') shared.resolve(message.shared)
    else if (message.type === 'greeted') onGreeted()
    else if (message.type === 'stop') {
      if (message.waits) disconnected = disconnection()
      stopped.resolve('supervisor')
    } else if (message.type === 'metrics') reads.get(message.id)?.(message.text)
    else void collect()
  })
  post({ type: 'hello' })
  const readMetrics = async (): Promise<string> => {
    const id = ++lastId
    const { promise, resolve } = Promise.withResolvers<string>()
    reads.set(id, resolve)
    post({ type: 'read metrics', id })
    const text = await Promise.race([promise, sleep(METRICS_DEADLINE_MS, undefined, { ref: false })])
    reads.delete(id)
    if (text === undefined) throw serviceUnavailable('The supervisor does not answer')
    return text
  }
  return {
    shared: shared.promise,
    stopped: stopped.promise,
    readMetrics,
    listenerShare: {
      disconnected: () => disconnected,
      drained: () => post({ type: 'drained' }),
    },
    onCollect: (handle: () => Promise<void>) => {
      collect = handle
    },
  }
}

/** Resolves once the supervisor has closed the channel and its share of the listener. */
async function disconnection(): Promise<void> {
  // Otherwise Node ends this process with the channel.
  if (cluster.worker) cluster.worker.exitedAfterDisconnect = true
  await once(process, 'disconnect')
}

const post = (message: FromWorker): void => void process.send?.(message, undefined, undefined, () => {})

async function reportFailure(error: unknown): Promise<never> {
  const reason = explainRefusal(error) ?? error
  const isExpected = reason instanceof StartError || !(reason instanceof Error)
  const message = isExpected ? messageOf(reason) : String(reason.stack)
  const sent = Promise.withResolvers<void>()
  const failed: FromWorker = { type: 'failed', message }
  process.send?.(failed, undefined, undefined, () => sent.resolve())
  await sent.promise
  process.exit(1)
}
