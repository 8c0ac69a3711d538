import { createBodyTasks } from '../../inbound/handling/bodies/body-tasks.ts'
import { performTasks } from '../../threads/task-program.ts'
import { eventReader } from './event-reader.ts'

/** The program of the thread that reads large bodies. */
performTasks(createBodyTasks(eventReader))
