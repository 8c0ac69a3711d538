import { residentMegabytes } from '../../bench/process.ts'
import type { StageOptions } from '../../bench/stage.ts'
import { createClient, type Secrets } from './client.ts'
import { attackCost } from './cost.ts'
import { askForForeign } from './foreign-ids.ts'
import { fuzz } from './fuzz.ts'
import { attackInbound } from './inbound.ts'
import { type Operation, readContract } from './operation.ts'
import { createRandom } from './random.ts'
import { sendMalformed } from './raw-http.ts'
import { createTally, type Tally } from './tally.ts'
import { createWorld, FOREIGN_MARK, type World } from './world.ts'

/** The bounds of every run: of `npm run hostile`, with and without `--quick`, and of its copy among the tests. */
export const BOUNDS = { slowMs: 10_000, memoryMegabytes: 450 }

export type RunOptions = {
  seed: number
  /** Requests of the fuzz. */
  requests: number
  /** For the control arm: an operation that no attack covers. */
  uncovered?: Operation
  stage?: StageOptions
  say?: (line: string) => void
}

/** Attacks a running service in every way of this folder and counts what went wrong. */
export async function attack({ say = () => {}, ...given }: RunOptions): Promise<Tally> {
  const options = { ...given, ...BOUNDS }
  const tally = createTally()
  const world = await createWorld(options.stage)
  const contract = await readContract(new URL('../../openapi.json', import.meta.url))
  if (options.uncovered) contract.operations.push(options.uncovered)
  const client = createClient(world.stage.url)
  try {
    say(`foreign ids over ${contract.operations.length} operations`)
    await askForForeign(world, client, contract, tally)
    say('malformed HTTP')
    await sendMalformed(world.stage.url, tally)
    const before = residentMegabytes(world.stage.service.pid).highest
    say('hostile provider bodies')
    await attackInbound(world, tally, options.slowMs)
    say('attacks that cost much')
    await attackCost(world, tally)
    say(`fuzz with ${options.requests} requests`)
    const secrets: Secrets = { everywhere: [world.adminToken], foreign: FOREIGN_MARK }
    const fuzzOptions = { limits: options, random: createRandom(options.seed), secrets, concurrency: 8 }
    await fuzz(world, client, contract, tally, { ...options, ...fuzzOptions })
    countMemory(world, tally, before, options.memoryMegabytes, say)
    return tally
  } finally {
    await client.close()
    await world.stop()
  }
}

function countMemory({ stage }: World, tally: Tally, before: number, most: number, say: (line: string) => void): void {
  const { highest } = residentMegabytes(stage.service.pid)
  const words = `resident memory: ${Math.round(before)} MB before, ${Math.round(highest)} MB at its highest`
  say(words)
  if (highest - before > most) tally.add('memory beyond the bound', words)
}
