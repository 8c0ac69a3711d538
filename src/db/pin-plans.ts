import type { Db } from './connect.ts'

/**
 * Plans each statement once and joins by key for the rest of the transaction: planning takes longer than running, and a
 * plan made on an empty table would later scan a whole index. Limits lock waits to `lockMs`.
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
