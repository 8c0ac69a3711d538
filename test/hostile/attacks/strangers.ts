import type { Tally } from '../tally.ts'
import type { World } from '../world.ts'
import type { Attack } from './cost.ts'
import { createDownload, downloadUnread } from './downloads.ts'
import { createLargeLists, listUnread } from './large-answers.ts'
import { addWaitingJobs, readMetrics, removeWaitingJobs } from './metrics-readers.ts'
import { pipelineRequests, pipelineUnread } from './pipelines.ts'
import { postSingleBytes } from './sockets.ts'

/** Attacks with many connections, many requests on one, and answers that nobody takes. `isControl`, `isBrief`: as in cost.ts. */
export async function createStrangers(
  world: World,
  tally: Tally,
  { isControl, isBrief }: { isControl: boolean; isBrief: boolean },
): Promise<Attack[]> {
  const download = await createDownload(world)
  const lists = await createLargeLists(world)
  await addWaitingJobs(world)
  return [
    { name: 'pipelined requests', run: () => pipelineRequests(world, tally, isBrief), isRepeatable: true },
    { name: 'pipelines that nobody reads', run: () => pipelineUnread(world, tally, isControl), isRepeatable: true },
    { name: 'sockets with one byte', run: () => postSingleBytes(world, tally, isBrief), isRepeatable: true },
    {
      name: 'downloads that nobody reads',
      run: () => downloadUnread(world, download, tally, isControl),
      isRepeatable: true,
    },
    {
      name: 'lists that nobody reads',
      run: () => listUnread(world, lists, tally, { isControl, isBrief }),
      isRepeatable: true,
    },
    {
      name: 'readers of metrics',
      run: () => readMetrics(world, tally, isBrief),
      isRepeatable: true,
      end: () => removeWaitingJobs(world),
    },
  ]
}
