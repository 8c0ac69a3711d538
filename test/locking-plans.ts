import { connect, type Pool } from '../src/db/connect.ts'

/** The planner's choices of a busy table: rows are found by their keys, one after the other. */
const SETTINGS =
  'plan_cache_mode=force_generic_plan&enable_hashjoin=off&enable_mergejoin=off&debug_print_plan=on&client_min_messages=log'

/**
 * Runs work, and returns how many of its statements lock rows and also look up partitions by values of other rows. PostgreSQL
 * 18.4 may crash in such a statement (docs/decisions/0016).
 */
export async function countRiskyLocks(url: string, work: (db: Pool) => Promise<unknown>): Promise<number> {
  const plans: string[] = []
  const db = connect(`${url}&${SETTINGS}`, { max: 1, onNotice: (_, detail) => plans.push(detail) })
  try {
    await work(db)
  } finally {
    await db.end()
  }
  return plans.filter((plan) => plan.includes('{LOCKROWS') && /:exec_pruning_steps\s+\(/.test(plan)).length
}
