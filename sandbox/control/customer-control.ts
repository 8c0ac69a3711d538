import { Type } from 'typebox'
import { digitsOf } from '../phone.ts'
import { parserOf } from './bad-input.ts'
import { type ControlCall, type ControlDeps, getNumber } from './control-deps.ts'

const parseCustomer = parserOf(
  Type.Object(
    {
      phoneNumberId: Type.String({ minLength: 1 }),
      phone: Type.String({ pattern: '^\\+?[0-9]{5,15}$' }),
      waId: Type.Optional(Type.String({ pattern: '^[0-9]{5,15}$' })),
      userId: Type.Optional(Type.String({ minLength: 1 })),
    },
    { additionalProperties: false },
  ),
)

/**
 * `POST /sandbox/customers`: the `wa_id` and `user_id` with which answers to sends, and statuses, name a customer whose
 * number is the recipient. They replace earlier ones.
 */
export function identifyCustomer({ world }: ControlDeps, { body }: ControlCall) {
  const { phoneNumberId, phone, ...ids } = parseCustomer(body)
  const number = getNumber(world, phoneNumberId)
  number.customers = (number.customers ?? new Map()).set(digitsOf(phone), ids)
  return { phoneNumberId, phone, ...ids }
}
