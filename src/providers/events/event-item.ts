export type JsonObject = Record<string, unknown>

export type Route =
  | { by: 'sender'; phoneNumberId: string }
  | { by: 'account'; wabaAccountId: string }
  | { by: 'app'; appId: string }
  | { by: 'nothing' }

/** Items in one group may be stored together. */
type Position = { group: string; index: number }

export type Placed = {
  /** Must be stable: the same body always yields the same keys. */
  key: string
  position: Position
  field: string | null
  route: Route
  /** Epoch seconds on the provider's clock. */
  timestamp: number | null
  /** Returns the provider's exact JSON for this item, or with siblings from its list. */
  raw: (siblings?: readonly Placed[]) => string
}

/** Both identities may be missing. */
export type EventCustomer = {
  phone: string | null
  /** Stays available when the customer hides the phone number. */
  userId: string | null
  profileName: string | null
}

export type RecordType = 'text' | 'image' | 'video' | 'audio' | 'document'
export type InboundMediaKind = 'image' | 'video' | 'audio' | 'document'

export type InboundMedia = {
  /** Stickers are images. */
  kind: InboundMediaKind
  mimeType: string | null
  filename: string | null
  caption: string | null
  voice: boolean
  providerMediaId: string | null
  /** Short-lived; requires the provider's credential. */
  url: string | null
}

export type ReportedError = { code: number | null; title: string | null; details: string | null }

/** An echo's customer is the recipient. */
export type Conversational = Placed & {
  /** A digest if the provider sent no id. */
  wamid: string
  customer: EventCustomer
  businessPhone: string | null
  isEcho: boolean
  opensWindow: boolean
  isForwarded: boolean
  /** Set in group chats, which have their own conversation. */
  groupId: string | null
}

export type MessageItem = Conversational & {
  kind: 'message'
  providerType: string
  /** Receivers' view (spec: Envelope). */
  type: string
  text: string
  media: InboundMedia | null
  /** Conversation's view (spec: Conversation message record). */
  recordType: RecordType
  recordText: string
  quotedWamid: string | null
  originalWamid: string | null
  details: MessageDetails
  error: ReportedError | null
}

/** All events for a call make one message; receivers get each event. */
export type CallItem = Omit<MessageItem, 'kind'> & {
  kind: 'call'
  /** Provider call id, also used as the message's wamid; `wamid` identifies the event. */
  callId: string
  call: VoiceCall
}

/** Changes `originalWamid`. Receivers get message members. */
export type ChangeItem = Omit<MessageItem, 'kind'> & {
  kind: 'change'
  change: 'edit' | 'revoke'
  newText: string | null
}

/** A null emoji removes the reaction. */
export type ReactionItem = Conversational & {
  kind: 'reaction'
  targetWamid: string | null
  emoji: string | null
}

export type Pricing = { category: string | null; type: string | null; billable: boolean | null }

export type StatusItem = Placed & {
  kind: 'status'
  /** `enqueued` links `providerMessageId` to `wamid`. */
  status: 'enqueued' | 'sent' | 'delivered' | 'read' | 'failed'
  wamid: string | null
  providerMessageId: string | null
  callbackData: string | null
  recipientPhone: string | null
  recipientUserId: string | null
  pricing: Pricing | null
  error: ReportedError | null
}

type TemplateName = {
  templateId: string | null
  name: string | null
  /** Uses `_`, as in `en_US`. */
  language: string | null
}

export type TemplateStatusEvent = 'APPROVED' | 'PENDING' | 'REJECTED' | 'DISABLED'

type TemplateStatusItem = Placed &
  TemplateName & {
    kind: 'template-status'
    status: TemplateStatusEvent | null
    event: string
    reason: string
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
  displayPhone: string | null
  event: string | null
  /** Customers per rolling day. */
  dailyLimit: number | 'unlimited' | null
  limit: string | null
}

export type AccountEventItem = Placed & {
  kind: 'account-event'
  event: string | null
  severity: 'info' | 'warning' | 'critical'
  /** Null for kinds that may contain customer data. */
  details: JsonObject | null
  dailyLimit: number | 'unlimited' | null
  signsMarketingTerms: boolean
}

type PreferenceItem = Placed & { kind: 'preference'; customer: EventCustomer; marketing: 'stop' | 'resume' }

/** Null if neither business nor agent holds the conversation. */
export type HandoverItem = Placed & {
  kind: 'handover'
  /** Set if the event puts the business number in place of the recipient. */
  phoneNumberId: string | null
  phone: string | null
  userId: string | null
  controlledBy: 'business' | 'agent' | null
}

type IdentityChange = { previousUserIds: readonly string[] }

/** `wamid` is null unless a system message reported the change. */
export type UserIdChangedItem = Placed &
  IdentityChange & { kind: 'user-id-changed'; wamid: string | null; customer: EventCustomer; userId: string }

/** Digits. `from` is null for a hidden number. */
export type NumberChangedItem = Placed &
  IdentityChange & {
    kind: 'number-changed'
    wamid: string
    from: string | null
    to: string
    userId: string | null
  }

type IgnoredItem = Placed & { kind: 'ignored'; reason: string }

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

export type ParsedInbound = { kind: 'items'; items: InboundItem[] } | { kind: 'unreadable'; reason: string }

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
