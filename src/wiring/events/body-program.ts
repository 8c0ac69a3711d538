import { performTasks } from '../../fair/threads/task-program.ts'
import { createBodyTasks } from '../../inbound/handling/body-thread.ts'
import { eventReader } from './event-reader.ts'

performTasks(createBodyTasks(eventReader))
