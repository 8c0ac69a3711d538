import type { JsonObject } from './json-member.ts'

/** A button, list row, flow response (as JSON text) or call permission response. */
export type Reply = {
  id: string | null
  title: string | null
  description: string | null
  payload: string | null
  responseJson: string | null
  callPermission: CallPermission | null
}

export type CallPermission = {
  response: string | null
  /** `user_action`, or `automatic` after a customer's call. */
  source: string | null
  isPermanent: boolean | null
  expiresAt: string | null
}

/** Objects and lists are the provider's own (decisions: Envelope). */
export type MessageDetails = {
  reply: Reply | null
  referral: JsonObject | null
  forwarded: boolean
  /** Implies `forwarded`. */
  frequentlyForwarded: boolean
  referredProduct: JsonObject | null
  location: JsonObject | null
  contacts: readonly unknown[] | null
  order: JsonObject | null
  call: VoiceCall | null
}

export const NO_DETAILS: MessageDetails = {
  reply: null,
  referral: null,
  forwarded: false,
  frequentlyForwarded: false,
  referredProduct: null,
  location: null,
  contacts: null,
  order: null,
  call: null,
}

/** Times are in ISO 8601. */
export type VoiceCall = {
  direction: 'inbound' | 'outbound'
  status: 'ringing' | 'completed' | 'missed' | 'failed'
  /** Answer time; ring time for an unanswered call. */
  startedAt: string | null
  endedAt: string | null
  events: string[]
}
