import type { Shop } from '../shop.ts'
import type { Ledger } from './consent-model.ts'
import type { Addresses } from './email-consent.ts'

export type Person = { name: string; phone: string; userId: string; alias: string }
export type State = {
  ledger: Ledger
  addresses: Addresses
  persons: Person[]
  /** Epoch seconds before which events about the past were said, and those that are taken. */
  start: number
  taken: Set<number>
  /** The second of the last statement that the service dated itself. */
  lastSecond: number
  numbers: number
  /** By requested number, as the provider answers. */
  waIds: Map<string, string>
}
export type Run = (state: State, shop: Shop) => Promise<unknown>
export type Shown = 'phone' | 'user id' | 'both'
export type Way = 'PUT' | 'POST' | 'array' | 'list'
