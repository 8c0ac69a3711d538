import { performTasks } from '../../fair/threads/task-program.ts'
import { createBodyTasks } from '../../inbound/handling/bodies/body-tasks.ts'
import { eventReader } from './event-reader.ts'

performTasks(createBodyTasks(eventReader))
