import { createTaskThread } from '../../fair/threads/task-thread.ts'
import { createBodyReader } from '../../inbound/handling/body-reader.ts'
import { type BodyTasks, createBodyThread } from '../../inbound/handling/body-thread.ts'
import { programFile } from '../../platform/program-file.ts'
import { eventReader } from './event-reader.ts'

/** A 4 MiB body takes up to 0.7 s of processor time and 100 MB. */
export const runBodyTask = createTaskThread<BodyTasks>({
  program: programFile('src/wiring/events/body-program.ts'),
  limitsMs: { findIds: 3_000, prove: 3_000, open: 3_000, cut: 3_000 },
  memory: { maxOldGenerationSizeMb: 512, maxYoungGenerationSizeMb: 32 },
})

export const bodyReader = createBodyReader(eventReader, createBodyThread(runBodyTask))
