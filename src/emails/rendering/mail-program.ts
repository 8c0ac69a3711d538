import { parentPort } from 'node:worker_threads'
import { MAIL_TASKS, type MailTaskName } from './mail-tasks.ts'

/** The program of the worker of `mail-worker.ts`: one answer for each message, in their order. */
parentPort?.on('message', async ({ name, input }: { name: MailTaskName; input: never }) => {
  try {
    parentPort?.postMessage({ result: await MAIL_TASKS[name](input) })
  } catch (error) {
    parentPort?.postMessage({ error: error instanceof Error ? error.message : String(error) })
  }
})
parentPort?.postMessage({ isReady: true })
