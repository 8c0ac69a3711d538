import type { JsonObject } from './json-member.ts'
import type { MessageDetails, VoiceCall } from './message-details.ts'

/** How an item finds its company: each kind of event names something else (decisions: Provider-facing webhook). */
export type Route =
  | { by: 'sender'; phoneNumberId: string }
  | { by: 'account'; wabaAccountId: string }
  | { by: 'app'; appId: string }
  | { by: 'nothing' }

/** Where an item stands: items of one group may be kept together. */
type Position = { group: string; index: number }

/** Members of every item: its position, its route, its time, and its own text. */
export type Placed = {
  /** Stable within its body: the same body always yields the same keys. */
  key: string
  position: Position
  /** The provider's name for the kind of change; null where it has none. */
  field: string | null
  route: Route
  /** Epoch seconds by the provider's clock, or null. */
  timestamp: number | null
  /**
   * The provider's JSON for this item alone, byte by byte as it came, or together with other items of its list. Made when
   * asked for.
   */
  raw: (siblings?: readonly Placed[]) => string
}

/** The customer of an item. Both identities may be absent in a poor event. */
export type EventCustomer = {
  /** Digits. */
  phone: string | null
  /** The provider's user id, which stays when the customer hides the phone. */
  userId: string | null
  profileName: string | null
}

/** The five types of a conversation's message record. */
export type RecordType = 'text' | 'image' | 'video' | 'audio' | 'document'
export type InboundMediaKind = 'image' | 'video' | 'audio' | 'document'

export type InboundMedia = {
  /** A sticker is an image. */
  kind: InboundMediaKind
  mimeType: string | null
  filename: string | null
  caption: string | null
  voice: boolean
  providerMediaId: string | null
  /** Where the provider also gives an address; short-lived, and it needs the provider's credential. */
  url: string | null
}

export type ReportedError = { code: number | null; title: string | null; details: string | null }

/** Members that messages and reactions share. The customer of an echo is its recipient. */
export type Conversational = Placed & {
  /** The provider's id; a digest of the message when it came without one. */
  wamid: string
  customer: EventCustomer
  /** Digits of the business number, as the provider displays it. */
  businessPhone: string | null
  /** Written by the business in the phone app. */
  isEcho: boolean
  /** Whether it opens the 24-hour window. */
  opensWindow: boolean
  /** Whether receivers get it. */
  isForwarded: boolean
  /** Present in group chats: such a message is no part of the customer's own conversation. */
  groupId: string | null
}

export type MessageItem = Conversational & {
  kind: 'message'
  /** As the provider says, such as `sticker`, `system`, `request_welcome`. */
  providerType: string
  /** As receivers see it (spec: Envelope). */
  type: string
  text: string
  media: InboundMedia | null
  /** As the conversation shows it (spec: Conversation message record). */
  recordType: RecordType
  recordText: string
  /** The message to which this one replies. */
  quotedWamid: string | null
  /** The message that this one edits or revokes. */
  originalWamid: string | null
  details: MessageDetails
  error: ReportedError | null
}

/** An event about a call. All events of a call make one message; receivers get each event. */
export type CallItem = Omit<MessageItem, 'kind'> & {
  kind: 'call'
  /** The provider's call id, also the message's wamid; `wamid` identifies the event. */
  callId: string
  call: VoiceCall
}

/** Changes the message `originalWamid`; no message of its own. Receivers get it with the members of a message. */
export type ChangeItem = Omit<MessageItem, 'kind'> & {
  kind: 'change'
  change: 'edit' | 'revoke'
  /** Of an edit; null: it has no text. */
  newText: string | null
}

/** Sets, or with emoji null clears, the reaction on its target; no message of its own. */
export type ReactionItem = Conversational & {
  kind: 'reaction'
  targetWamid: string | null
  emoji: string | null
}

/** Whether the provider charges for a message: its values, in lower case. */
export type Pricing = { category: string | null; type: string | null; billable: boolean | null }

export type StatusItem = Placed & {
  kind: 'status'
  /** `enqueued` reports that `providerMessageId`, the id of the send's answer, belongs to `wamid`. */
  status: 'enqueued' | 'sent' | 'delivered' | 'read' | 'failed'
  wamid: string | null
  /** The provider's own id of the message, where it has one beside the wamid. */
  providerMessageId: string | null
  /** Our own message id, as the send named it. */
  callbackData: string | null
  recipientPhone: string | null
  recipientUserId: string | null
  pricing: Pricing | null
  error: ReportedError | null
}

type TemplateName = {
  /** The provider's id, exact however many digits it has. */
  templateId: string | null
  name: string | null
  /** With `_`, as in `en_US`. */
  language: string | null
}

export type TemplateStatusEvent = 'APPROVED' | 'PENDING' | 'REJECTED' | 'DISABLED'

type TemplateStatusItem = Placed &
  TemplateName & {
    kind: 'template-status'
    /** Null: the event changes no status. */
    status: TemplateStatusEvent | null
    /** The provider's value, in upper case. */
    event: string
    /** The empty string where there is none. */
    reason: string
    /** The provider's explanation. */
    explanation: string | null
    category: string | null
  }

type TemplateQualityItem = Placed &
  TemplateName & { kind: 'template-quality'; previousScore: string | null; score: string }

type TemplateCategoryItem = Placed &
  TemplateName & { kind: 'template-category'; previousCategory: string | null; category: string }

export type TemplateButtonChange = {
  type: string | null
  text: string | null
  url: string | null
  phoneNumber: string | null
}

export type TemplateComponentsItem = Placed &
  TemplateName & {
    kind: 'template-components'
    header: string | null
    body: string | null
    footer: string | null
    buttons: TemplateButtonChange[]
  }

export type NumberQualityItem = Placed & {
  kind: 'number-quality'
  /** Digits. */
  displayPhone: string | null
  event: string | null
  /** Customers per rolling day; null where the event does not say. */
  dailyLimit: number | 'unlimited' | null
  /** The provider's name, such as `TIER_2K`. */
  limit: string | null
}

export type AccountEventItem = Placed & {
  kind: 'account-event'
  /** The provider's name for what happened; null where it has none. */
  event: string | null
  severity: 'info' | 'warning' | 'critical'
  /** The value of the event; null for kinds that may name a customer. */
  details: JsonObject | null
  /** A limit that the event reports for all numbers of the account. */
  dailyLimit: number | 'unlimited' | null
  /** The account has signed the provider's terms for marketing messages. */
  signsMarketingTerms: boolean
}

/** The customer stopped or resumed marketing messages within WhatsApp. */
type PreferenceItem = Placed & { kind: 'preference'; customer: EventCustomer; marketing: 'stop' | 'resume' }

/** The business or the agent of the provider took the conversation with a customer over; null: neither has it. */
export type HandoverItem = Placed & {
  kind: 'handover'
  /** The number of the business, where the event names it in the place of its recipient. */
  phoneNumberId: string | null
  /** Digits. */
  phone: string | null
  userId: string | null
  controlledBy: 'business' | 'agent' | null
}

/** `previousUserIds`: those that the provider names, of this portfolio first. */
type IdentityChange = { previousUserIds: readonly string[] }

/** `wamid`: of the system message that reports it; null: another event does. */
export type UserIdChangedItem = Placed &
  IdentityChange & { kind: 'user-id-changed'; wamid: string | null; customer: EventCustomer; userId: string }

/** Digits. `from` is null for a customer who hides the number; `userId` is the new one, where it is named. */
export type NumberChangedItem = Placed &
  IdentityChange & {
    kind: 'number-changed'
    /** Of the system message that reports it. */
    wamid: string
    from: string | null
    to: string
    userId: string | null
  }

/** An item that needs no handling, whether its kind is known or not. */
type IgnoredItem = Placed & { kind: 'ignored'; reason: string }

/** It could not be understood; its siblings were. */
type UnreadableItem = Placed & { kind: 'unreadable-item'; reason: string }

export type InboundItem =
  | MessageItem
  | CallItem
  | ChangeItem
  | ReactionItem
  | StatusItem
  | TemplateStatusItem
  | TemplateQualityItem
  | TemplateCategoryItem
  | TemplateComponentsItem
  | NumberQualityItem
  | AccountEventItem
  | PreferenceItem
  | HandoverItem
  | UserIdChangedItem
  | NumberChangedItem
  | IgnoredItem
  | UnreadableItem

/** `unreadable`: the body is no JSON object at all. */
export type ParsedInbound = { kind: 'items'; items: InboundItem[] } | { kind: 'unreadable'; reason: string }
