import { performTasks } from '../../fair/threads/task-program.ts'
import { MAIL_TASKS } from './mail-tasks.ts'

/** The program of the thread of `mail-worker.ts`. */
performTasks(MAIL_TASKS)
