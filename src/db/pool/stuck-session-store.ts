import type { Db } from '../connect.ts'

/**
 * Ends service sessions stuck in a read or write of the client for `seconds`; returns how many. A frozen process would
 * otherwise keep its locks: before version 17, no PostgreSQL setting ends these.
 */
export async function endStuckSessions(db: Db, seconds: number): Promise<number> {
  const rows = await db`
    select pg_terminate_backend(pid)
    from pg_stat_activity
    where datname = current_database()
      and usename = current_user
      and split_part(application_name, ' ', 1) = split_part(current_setting('application_name'), ' ', 1)
      and state = 'active'
      and wait_event in ('ClientRead', 'ClientWrite')
      and state_change < now() - make_interval(secs => ${seconds})
      and pid <> pg_backend_pid()
  `
  return rows.length
}
