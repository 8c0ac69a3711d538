import { GCProfiler, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
/** Collects all garbage. */
export const collectGarbage = runInNewContext('gc') as () => void

type Collection = ReturnType<GCProfiler['stop']>['statistics'][number]

/** Bytes that grow old while the work is done: what collections of young objects move to the old ones. */
export async function promotedBy(work: () => unknown): Promise<number> {
  const profiler = new GCProfiler()
  // Objects from before the work, such as modules, grow old now and are not counted.
  collectGarbage()
  profiler.start()
  await work()
  const young = profiler.stop().statistics.filter(({ gcType }) => gcType === 'Scavenge')
  return young.reduce((sum, { beforeGC, afterGC }) => sum + oldIn(afterGC) - oldIn(beforeGC), 0)
}

const oldIn = ({ heapSpaceStatistics }: Collection['beforeGC']): number =>
  heapSpaceStatistics.find(({ spaceName }) => spaceName === 'old_space')?.spaceUsedSize ?? 0
