import { connect, type Pool } from '../src/db/connect.ts'

/** The plans of what is run, as the database itself reports them. */
export async function plansOf(url: string, run: (db: Pool) => Promise<void>): Promise<string[]> {
  const plans: string[] = []
  const watched = connect(url, { max: 1, onNotice: (message) => plans.push(message) })
  try {
    await watched`load 'auto_explain'`
    await watched`select set_config('auto_explain.log_min_duration', '0', false),
      set_config('auto_explain.log_level', 'notice', false)`
    plans.length = 0
    await run(watched)
  } finally {
    await watched.end()
  }
  return plans
}
