import type { JsonObject } from './json-member.ts'

/** A chosen button, a chosen row of a list, the answers of a flow as JSON text, or the answer to a call permission request. */
export type Reply = {
  id: string | null
  title: string | null
  description: string | null
  payload: string | null
  responseJson: string | null
  callPermission: CallPermission | null
}

export type CallPermission = {
  /** The provider's word: `accept` or `reject`. */
  response: string | null
  /** Who answered: `user_action`, or `automatic` after a call of the customer. */
  source: string | null
  isPermanent: boolean | null
  /** ISO 8601. */
  expiresAt: string | null
}

/** A message's members other than text and media (decisions: Envelope); objects and lists are the provider's own. */
export type MessageDetails = {
  reply: Reply | null
  referral: JsonObject | null
  forwarded: boolean
  /** Forwarded many times; `forwarded` is true then, too. */
  frequentlyForwarded: boolean
  /** The product that the customer asks about. */
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

/** A voice or video call. Times are in ISO 8601. */
export type VoiceCall = {
  direction: 'inbound' | 'outbound'
  status: 'ringing' | 'completed' | 'missed' | 'failed'
  /** When it was answered; until then, and of an unanswered call, when it rang. */
  startedAt: string | null
  endedAt: string | null
  /** The provider's events that came about it, each once. */
  events: string[]
}
