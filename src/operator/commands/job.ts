import type { Command } from 'commander'
import { failedJobs, retryFailedJob } from '../operator.ts'
import { toJobReply } from '../queues/job-shape.ts'
import { commandGroup, type OpenOperator } from './command.ts'

/** `parley jobs …` */
export function jobCommands(program: Command, open: OpenOperator): void {
  const { add, run } = commandGroup(program, 'jobs', 'background work that was given up: failed, retry', open)

  add('failed', 'list it, with its last error').action((_options: object, command: Command) =>
    run(command, async ({ db }) => (await failedJobs(db)).map(toJobReply)),
  )

  add('retry <job>', 'try it once more')
    .option('--company <id>', 'its company, where several have a failed job with this id')
    .action((job: string, { company }: { company?: string }, command: Command) =>
      run(command, async (deps) => {
        await retryFailedJob(deps, job, company)
        return { success: true }
      }),
    )
}
