import { residentMegabytes } from '../../bench/process.ts'
import type { StageOptions } from '../../bench/stage.ts'
import { MOST_BYTES_IN_FLIGHT } from '../../src/http/body/body-budget.ts'
import { attackArchives } from './archives.ts'
import { attackBrowserKeys } from './browser-keys.ts'
import { createClient, type Secrets } from './client.ts'
import { attackCost } from './cost.ts'
import { askForForeign } from './foreign-ids.ts'
import { fuzz } from './fuzz.ts'
import { measureQuiet, underAttack } from './healthy.ts'
import { attackInbound } from './inbound.ts'
import { type Operation, readContract } from './operation.ts'
import { createRandom } from './random.ts'
import { sendMalformed } from './raw-http.ts'
import { attackRoles } from './roles.ts'
import { createTally, type Tally } from './tally.ts'
import { createWorld, FOREIGN_MARK, type World } from './world.ts'

/**
 * What the service's memory may grow by: a body in flight, its text and what is parsed from it. Like every bound of these
 * attacks it is a count or a ratio, and holds on a machine of any speed; the only durations are deadlines that end a hang
 * (test/hostile/until-found.ts). How much longer healthy calls take under each attack is printed.
 */
const MOST_GROWTH_BYTES = 3 * MOST_BYTES_IN_FLIGHT

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
export async function attack({ say = () => {}, ...options }: RunOptions): Promise<Tally> {
  const tally = createTally()
  const world = await createWorld(options.stage)
  const contract = readContract()
  if (options.uncovered) contract.operations.push(options.uncovered)
  const client = createClient(world.stage.url)
  const under = async (name: string, work: () => Promise<void>): Promise<void> => {
    say(name)
    await underAttack(world, tally, name, work)
  }
  try {
    say('no attack')
    await measureQuiet(world, tally)
    const before = residentMegabytes(world.stage.service.pid).highest
    await under('foreign ids', () => askForForeign(world, client, contract, tally))
    await under('roles of sessions', () => attackRoles(world, client, contract, tally))
    await under('keys of browsers', () => attackBrowserKeys(world, client, contract, tally))
    await under('archives of companies', () => attackArchives(world, tally))
    await under('malformed HTTP', () => sendMalformed(world.stage.url, tally))
    await under('hostile provider bodies', () => attackInbound(world, tally))
    await attackCost(world, tally, under)
    const secrets: Secrets = { everywhere: [world.adminToken], foreign: FOREIGN_MARK }
    const { requests } = options
    const fuzzOptions = { requests, random: createRandom(options.seed), secrets, concurrency: 8 }
    await under(`a fuzz of ${requests} requests`, () => fuzz(world, client, contract, tally, fuzzOptions))
    countMemory(world, tally, before)
    return tally
  } finally {
    await client.close()
    await world.stop()
  }
}

function countMemory({ stage }: World, tally: Tally, before: number): void {
  const { highest } = residentMegabytes(stage.service.pid)
  const figure = `resident memory: ${Math.round(before)} MB before, ${Math.round(highest)} MB at its highest`
  tally.figures.push(figure)
  if ((highest - before) * 1024 * 1024 > MOST_GROWTH_BYTES) tally.add('memory beyond the bound', figure)
}
