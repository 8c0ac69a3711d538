import { createBodyTasks } from '../inbound/handling/body-tasks.ts'
import { performTasks } from '../task-program.ts'
import { eventReader } from './event-reader.ts'

/** The program of the thread that reads large bodies. */
performTasks(createBodyTasks(eventReader))
