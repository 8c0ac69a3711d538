import { METRICS_SPACING_MS } from '../../../src/platform/telemetry/metrics.ts'
import { createClient } from '../client.ts'
import type { Tally } from '../tally.ts'
import type { World } from '../world.ts'

const READERS = 4
const READINGS = 300
const BRIEF_READINGS = 50
/** Lanes of waiting jobs, which each computation walks along. */
const JOBS = 2_000
const KIND = 'media'

/** Jobs that wait until tomorrow. */
export async function addWaitingJobs({ stage }: World): Promise<void> {
  await stage.db`
    insert into jobs (kind, lane, subject_id, due_at)
    select ${KIND}, 'hostile ' || n, -n, now() + interval '1 day' from generate_series(1, ${JOBS}::int) as n
  `
}

export const removeWaitingJobs = ({ stage }: World) => stage.db`delete from jobs where lane like 'hostile %'`

/** Reads the metrics in parallel, as fast as they are answered. */
export async function readMetrics({ stage }: World, tally: Tally, isBrief: boolean): Promise<void> {
  const client = createClient(stage.url)
  const readings = isBrief ? BRIEF_READINGS : READINGS
  const seen = new Set<string>()
  const startedAt = performance.now()
  const read = async () => {
    for (let n = 0; n < readings; n += 1) {
      tally.requests++
      const { status, text } = await client.send({ method: 'get', path: '/metrics' })
      // A proxy is no reader.
      if (status === 200) seen.add(text)
    }
  }
  await Promise.all(Array.from({ length: READERS }, read))
  const most = Math.ceil((performance.now() - startedAt) / METRICS_SPACING_MS) + 2
  if (seen.size > most) tally.add('metrics computed beyond their rate', `${seen.size} times, at most ${most}`)
  await client.close()
}
