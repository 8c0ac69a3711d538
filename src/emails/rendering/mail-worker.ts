import { createTaskThread } from '../../fair/threads/task-thread.ts'
import { programFile } from '../../platform/program-file.ts'
import type { MailTasks } from './mail-tasks.ts'

export const runMailTask = createTaskThread<MailTasks>({
  program: programFile('src/emails/rendering/mail-program.ts'),
  limitsMs: { examine: 300, render: 300, track: 3_000, compose: 3_000, report: 300 },
  memory: { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 32 },
  maxWaiting: 2_000,
  maxWaitMs: 10_000,
})
