/** A customer's message that the service acknowledged with 200. */
export type Heard = { wamid: string; customer: string; phoneNumberId: string }
/** A customer's message as the service keeps it. */
export type Stored = Heard & { conversationId: number; seq: number }
/** A delivery that a receiver answered with 2xx, or that the service gave up. */
export type Delivered = { registrationId: string; wamid: string; body: string | null }

export type Outcome = 'acknowledged' | 'unknown' | 'unanswered'
/** A keyed send or mail as its caller saw it. */
export type Keyed = {
  text: string
  recipient: string
  outcome: Outcome
  /** The ids in 2xx answers to this key. */
  ids: string[]
  /** The answers in their order, equal ones in a row once: they explain a request without an outcome. */
  answers: string[]
}
/** A message or mail that reached a phone or a mailbox. */
export type Arrived = { text: string; recipient: string }

/** The observations of both sides in one run. */
export type Evidence = {
  heard: Heard[]
  stored: Stored[]
  /** Which registrations are to get the messages of a number. */
  registrations: Map<string, string[]>
  delivered: Delivered[]
  sends: Keyed[]
  phones: Arrived[]
  mails: Keyed[]
  mailboxes: Arrived[]
  /** Texts of mails that the service reports as failed with an unknown outcome. */
  unknownMails: Set<string>
  crashes: string[]
}
