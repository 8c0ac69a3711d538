/** A customer's message that the service acknowledged with 200. */
export type Acknowledged = { wamid: string; customer: string; phoneNumberId: string; text: string }
/** A customer's message as the service keeps it. */
export type Stored = Omit<Acknowledged, 'text'> & { text: string | null } & { conversationId: number; seq: number }
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
  acknowledged: Acknowledged[]
  /** Ids of everything that was posted, acknowledged or not, also of items that no service can keep. */
  posted: Set<string>
  stored: Stored[]
  /** The ids in events that the service gave up. */
  failed: Set<string>
  /** Which registrations are to get the messages of a number. */
  registrations: Map<string, string[]>
  delivered: Delivered[]
  sends: Keyed[]
  /** Sends with `sendAt`. */
  scheduled: Keyed[]
  /** Texts of scheduled messages that the service reports as sent with an unknown outcome. */
  unknownScheduled: Set<string>
  phones: Arrived[]
  mails: Keyed[]
  mailboxes: Arrived[]
  /** Texts of mails that the service reports as failed with an unknown outcome. */
  unknownMails: Set<string>
  /** Writes that a former primary acknowledged and the present one does not have. */
  lostWrites: number
  crashes: string[]
  /** Of each promotion or loss: how long no process answered a read, in milliseconds. */
  gapsMs: number[]
  bounds: Bounds
}

/** Outcomes that the faults of a run explain; more of them are a fault of the service. */
export type Bounds = {
  /** Deliveries that were dead-lettered. */
  dead: number
  /** Sends whose outcome is unknown. */
  unknownSends: number
  /** Scheduled messages whose outcome is unknown. */
  unknownScheduled: number
  /** Mails that failed with an unknown outcome. */
  failedMails: number
  /** The longest gap after a promotion, in milliseconds. */
  gapMs: number
}
