import { Type } from 'typebox'
import { DEMO_ACCOUNT } from '../world/demo.ts'
import { BadInput, parserOf } from './bad-input.ts'
import type { ControlCall, ControlDeps } from './control-deps.ts'

const parseNumber = parserOf(
  Type.Object(
    {
      phoneNumberId: Type.String({ pattern: '^[0-9]{1,20}$' }),
      displayPhoneNumber: Type.String({ minLength: 1 }),
      verifiedName: Type.String({ minLength: 1 }),
      wabaAccountId: Type.Optional(Type.String({ pattern: '^[0-9]{1,20}$' })),
      app: Type.Optional(Type.Object({ id: Type.String({ minLength: 1 }), name: Type.String({ minLength: 1 }) })),
      isOnBizApp: Type.Optional(Type.Boolean()),
    },
    { additionalProperties: false },
  ),
)

/** `GET /sandbox/numbers` */
export const listAllNumbers = ({ world }: ControlDeps) =>
  [...world.numbers.values()].map(({ id, ...number }) => ({ phoneNumberId: id, ...number }))

/** `POST /sandbox/numbers`: registers a number, or changes it; an account that is new comes into being with it. */
export function registerNumber({ world }: ControlDeps, { body }: ControlCall) {
  const { phoneNumberId: id, wabaAccountId = DEMO_ACCOUNT.id, ...number } = parseNumber(body)
  if (world.accounts.has(id)) throw new BadInput('phoneNumberId', 'is the id of an account')
  if (world.numbers.has(wabaAccountId)) throw new BadInput('wabaAccountId', 'is the id of a number')
  if (!world.accounts.has(wabaAccountId))
    world.accounts.set(wabaAccountId, { id: wabaAccountId, name: number.verifiedName })
  world.numbers.set(id, { id, wabaAccountId, ...number })
  return { phoneNumberId: id, wabaAccountId, ...number }
}
