import { type TSchema, Type } from 'typebox'
import { calmBehaviour } from '../behaviour.ts'
import { parserOf } from './bad-input.ts'
import type { ControlCall, ControlDeps } from './control-deps.ts'

const orNull = <Shape extends TSchema>(shape: Shape) => Type.Optional(Type.Union([shape, Type.Null()]))

const parseBehaviour = parserOf(
  Type.Object(
    {
      latencyMs: orNull(Type.Integer({ minimum: 0, maximum: 600_000 })),
      errorRate: orNull(Type.Number({ minimum: 0, maximum: 1 })),
      refuseWithCode: orNull(Type.Integer({ minimum: 0 })),
      ownRefusal: orNull(
        Type.Object({ status: Type.Integer({ minimum: 400, maximum: 599 }), message: Type.String({ minLength: 1 }) }),
      ),
      refuseMailWith: orNull(Type.Integer({ minimum: 0, maximum: 599 })),
      autoStatus: orNull(Type.Boolean()),
      resetBeforeAnswer: orNull(Type.Boolean()),
      htmlErrors: orNull(Type.Boolean()),
      truncate: orNull(Type.Boolean()),
      hang: orNull(Type.Boolean()),
    },
    { additionalProperties: false },
  ),
)

/** `GET /sandbox/behaviour` */
export const readBehaviour = ({ world }: ControlDeps) => world.behaviour

/** `PUT /sandbox/behaviour`: changes what it names and leaves the rest; null and 0 put a setting back. */
export function changeBehaviour({ world, autoStatusDefault }: ControlDeps, { body }: ControlCall) {
  const calm = calmBehaviour(autoStatusDefault)
  const asked = parseBehaviour(body)
  const changes = Object.entries(asked).map(([name, value]) => {
    const usual = Object.entries(calm).find(([other]) => other === name)?.[1]
    return [name, value === null || value === 0 ? usual : value]
  })
  Object.assign(world.behaviour, Object.fromEntries(changes))
  return world.behaviour
}
