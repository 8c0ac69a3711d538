import { epochSeconds } from '../clock.ts'
import { digitsOf } from '../phone.ts'
import type { PhoneNumber } from '../world/account.ts'

/** One change of one account, as it stands in an event's envelope. */
export type Change = { wabaAccountId: string; field: string; value: Record<string, unknown> }

/** One webhook body around these changes: one entry per account, in the order given. */
export function envelopeOf(changes: Change[], at: Date) {
  const byAccount = Map.groupBy(changes, ({ wabaAccountId }) => wabaAccountId)
  return {
    object: 'whatsapp_business_account',
    entry: [...byAccount].map(([id, its]) => ({
      id,
      time: Number(epochSeconds(at)),
      changes: its.map(({ field, value }) => ({ value, field })),
    })),
  }
}

/** A change about one number: everything under `messages` and the echoes begins like this. */
export const numberChange = (number: PhoneNumber, field: string, value: Record<string, unknown>): Change => ({
  wabaAccountId: number.wabaAccountId,
  field,
  value: {
    messaging_product: 'whatsapp',
    metadata: { display_phone_number: digitsOf(number.displayPhoneNumber), phone_number_id: number.id },
    ...value,
  },
})
