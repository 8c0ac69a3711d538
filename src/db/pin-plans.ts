import type { Db } from './connect.ts'

/**
 * For the rest of the transaction each statement is planned once, and joins rows by their keys: for statements that take
 * few rows out of tables of any size. Planning them takes longer than running them, and a plan that was made while a table
 * was empty would read all of an index later. Its own waits for a lock end after `lockMs`.
 */
export async function pinPlans(tx: Db, lockMs: number): Promise<void> {
  await tx`
    select
      set_config('plan_cache_mode', 'force_generic_plan', true),
      set_config('enable_hashjoin', 'off', true),
      set_config('enable_mergejoin', 'off', true),
      set_config('lock_timeout', ${String(lockMs)}, true)
  `
}
