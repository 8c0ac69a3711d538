import { constants, setPriority } from 'node:os'
import { parentPort } from 'node:worker_threads'

/** Inputs and results are copied between threads, except for moved memory. */
export type Tasks = Readonly<Record<string, (input: never) => unknown>>

export type TaskCall = { name: string; input: unknown; moved: readonly ArrayBuffer[] }
export type TaskAnswer = { result: unknown } | { error: string }

/** Makes this program a thread of `createTaskThread`: answers tasks in order. */
export function performTasks(tasks: Tasks): void {
  lowerPriority()
  const post = (answer: TaskAnswer | { isReady: true }, moved: readonly ArrayBuffer[] = []) =>
    parentPort?.postMessage(answer, moved)
  parentPort?.on('message', async ({ name, input, moved }: TaskCall & { input: never }) => {
    try {
      post({ result: await tasks[name]?.(input) }, moved)
    } catch (error) {
      post({ error: error instanceof Error ? error.message : String(error) })
    }
  })
  post({ isReady: true })
}

/**
 * With another busy program on two processors, requests of 1 ms take 9 ms longer at the same priority, 5 at a lower
 * one.
 */
function lowerPriority(): void {
  if (process.platform !== 'linux') return
  try {
    setPriority(constants.priority.PRIORITY_BELOW_NORMAL)
  } catch {
    // If forbidden (deploy/parley.service), tasks keep the priority of requests.
  }
}
