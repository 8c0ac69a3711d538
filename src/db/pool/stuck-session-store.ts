import type { Db } from '../connect.ts'

/**
 * Ends sessions of the service whose client does not read an answer, or does not finish a statement that it began to
 * send, for `seconds`: a frozen process, which would keep its locks. No setting of PostgreSQL before version 17 ends
 * these, and idle_in_transaction_session_timeout counts only between statements. Returns how many were ended.
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
