import { performTasks } from '../../fair/threads/task-program.ts'
import { createBodyTasks } from '../../inbound/handling/bodies/body-tasks.ts'
import { eventReader } from './event-reader.ts'

/** The program of the thread that reads large bodies. */
performTasks(createBodyTasks(eventReader))
