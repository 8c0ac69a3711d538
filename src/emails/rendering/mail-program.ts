import { performTasks } from '../../fair/threads/task-program.ts'
import { MAIL_TASKS } from './mail-tasks.ts'

performTasks(MAIL_TASKS)
