import { epochSeconds } from '../clock.ts'
import { digitsOf } from '../phone.ts'
import type { PhoneNumber } from '../world/account.ts'

/** One change of one account, as it stands in an event's envelope. */
export type Change = {
  wabaAccountId: string
  field: string
  value: Record<string, unknown>
  /** Gupshup's app, which then stands beside the entries. */
  appId?: string | undefined
}

/** The webhook bodies around these changes: Gupshup's apps each get their own. */
export const envelopesOf = (changes: Change[], at: Date) =>
  [...Map.groupBy(changes, ({ appId }) => appId).values()].map((its) => envelopeOf(its, at))

/** One webhook body around these changes: one entry per account, in the order of the changes. */
export function envelopeOf(changes: Change[], at: Date) {
  const byAccount = Map.groupBy(changes, ({ wabaAccountId }) => wabaAccountId)
  const appId = changes[0]?.appId
  return {
    object: 'whatsapp_business_account',
    ...(appId !== undefined && { gs_app_id: appId }),
    entry: [...byAccount].map(([id, its]) => ({
      id,
      time: Number(epochSeconds(at)),
      changes: its.map(({ field, value }) => ({ value, field })),
    })),
  }
}

/** A change about one number: everything under `messages` and the echoes starts like this. */
export const numberChange = (number: PhoneNumber, field: string, value: Record<string, unknown>): Change => ({
  wabaAccountId: number.wabaAccountId,
  appId: number.app?.id,
  field,
  value: {
    messaging_product: 'whatsapp',
    metadata: { display_phone_number: digitsOf(number.displayPhoneNumber), phone_number_id: number.id },
    ...value,
  },
})
