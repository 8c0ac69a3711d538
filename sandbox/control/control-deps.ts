import type { Clock } from '../clock.ts'
import type { Webhook } from '../webhook/webhook.ts'
import type { PhoneNumber } from '../world/account.ts'
import type { IdMaker } from '../world/id-maker.ts'
import type { World } from '../world/world.ts'
import { BadInput } from './bad-input.ts'

export type ControlDeps = {
  world: World
  clock: Clock
  ids: IdMaker
  webhook: Webhook
  /** The world as it was at the start. */
  reset: () => void
  /** Whether statuses follow by default. */
  autoStatusDefault: boolean
}

export type ControlCall = { params: Record<string, string>; query: URLSearchParams; body: unknown }

/** The number of that id; BadInput if it is not registered. */
export function getNumber(world: World, id: string, field = 'phoneNumberId'): PhoneNumber {
  const number = world.numbers.get(id)
  if (number === undefined) throw new BadInput(field, `${id} is not registered (POST /sandbox/numbers)`)
  return number
}
