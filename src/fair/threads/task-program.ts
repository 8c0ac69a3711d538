import { constants, setPriority } from 'node:os'
import { parentPort } from 'node:worker_threads'

/** Work of a thread by name, each with one input. Inputs and results are copied between the threads, except for moved memory. */
export type Tasks = Readonly<Record<string, (input: never) => unknown>>

/** A task as it is posted to its thread, and what the thread answers. */
export type TaskCall = { name: string; input: unknown; moved: readonly ArrayBuffer[] }
export type TaskAnswer = { result: unknown } | { error: string }

/** Makes this program that of a thread of `createTaskThread`: one answer for each task, in their order. */
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
 * On Linux, each thread has a priority of its own. On two processors with another busy program, this one delays work of 1 ms in
 * the thread that answers requests by 9 ms with the same priority, by 5 ms with a lower one.
 */
function lowerPriority(): void {
  if (process.platform !== 'linux') return
  try {
    setPriority(constants.priority.PRIORITY_BELOW_NORMAL)
  } catch {
    // Where the system forbids it (deploy/parley.service), tasks have the priority of requests.
  }
}
