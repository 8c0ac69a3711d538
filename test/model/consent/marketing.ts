import { MARKETING } from '../../people/people-world.ts'
import { type Shop, Wrong } from '../shop.ts'
import type { Run } from './consent-state.ts'

const CHANNELS = ['phone', 'user id', 'alias'] as const

export function sendsMarketing(who: number, place: number): Run {
  return async ({ persons, ledger, waIds }, shop) => {
    const { name, phone, userId, alias } = persons[who]!
    const recipient = { phone, 'user id': userId, alias }[CHANNELS[place] ?? 'phone']
    const last = ledger.last(recipient)
    const isAllowed = last?.value ?? true
    await requireMarketing(shop, recipient, isAllowed, name)
    const waId = waIds.get(recipient)
    if (isAllowed && waId !== undefined) ledger.link(recipient, waId)
  }
}

export async function requireMarketing(shop: Shop, recipient: string, isAllowed: boolean, name: string): Promise<void> {
  shop.say(`The shop sends marketing to ${name}, ${recipient}`)
  const { status, text } = await shop.send(recipient, MARKETING)
  const expected = isAllowed ? 200 : 403
  if (status !== expected) {
    const reason = isAllowed ? 'is refused to' : 'reaches'
    throw new Wrong(
      `Marketing ${reason} ${name}, ${recipient}: ${status} instead of ${expected} ${status === 200 ? '' : text}`,
    )
  }
}
