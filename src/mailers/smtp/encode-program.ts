import { performTasks } from '../../fair/threads/task-program.ts'
import { encodeWhole } from './encode-mail.ts'

const TASKS = { encode: encodeWhole }
export type EncodeTasks = typeof TASKS

performTasks(TASKS)
