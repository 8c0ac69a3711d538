import type { MessageContext } from '../../../conversations/content/message-content.ts'
import { WINDOW_MS } from '../../../conversations/window.ts'
import {
  identify,
  identifyGroup,
  learnAnswer,
  learnRecipient,
  type NamedCustomer,
  type RecipientReport,
  writeUnder,
} from '../../../people/identify.ts'
import { changeNumber, changeUserId, type NumberChange, type UserIdChange } from '../../../people/identity-change.ts'
import {
  attachContact,
  type Customer,
  currentUserId,
  nextId,
  type People,
  type PersonConversation,
} from '../../../people/people.ts'
import type { ReportedError } from '../../../providers/events/event-item.ts'

/** Written by a customer, or by the business in its phone app. */
export type InboundRecord = {
  companyId: number
  senderId: number
  account: string
  kind: 'message' | 'echo' | 'reaction'
  /** Digits; null if the customer hides the number. */
  phone: string | null
  userId: string | null
  /** In a group chat, the group is the customer. */
  groupId: string | null
  profileName: string | null
  wamid: string | null
  type: string
  messageKind: string | null
  text: string | null
  media: object | null
  content: object | null
  context: MessageContext | null
  error: ReportedError | null
  quotedWamid: string | null
  targetWamid: string | null
  emoji: string | null
  sentAt: Date | null
  arrivedAt: Date
  opensWindow: boolean
  senderName: string | null
}

/** Reports customer identities. Ignored once the message with this `wamid` is recorded. */
export type IdentityEvent = { companyId: number; wamid: string | null } & (
  | { kind: 'number-change'; change: NumberChange }
  | { kind: 'user-id-change'; change: UserIdChange }
  | { kind: 'recipient' | 'answer'; report: RecipientReport }
  | { kind: 'introduction'; customer: NamedCustomer }
)

export type InboundEntry = InboundRecord | IdentityEvent

type InboundFacts = { people: ReadonlyMap<number, People>; recorded: ReadonlySet<string> }

/** Returns the deduplication key; undefined without a wamid. */
export const recordKey = ({ companyId, kind, wamid }: Pick<InboundEntry, 'companyId' | 'kind' | 'wamid'>) =>
  wamid === null ? undefined : `${companyId} ${kind === 'reaction' ? 'reaction' : 'message'} ${wamid}`

/** What a batch changes in a conversation. Times are in epoch milliseconds. */
export type ChangedConversation = {
  readonly companyId: number
  readonly conversation: PersonConversation
  messages: number
  /** Inbound messages since the last reply. */
  unread: number
  isAnswered: boolean
  isWrittenTo: boolean
  profileName: string | null
  last: InboundRecord | null
  lastInboundAt: number | null
  window: OpenedWindow | null
  /** Breaks ties in the list order. */
  place: number
}

/** `isNew`: the batch also has a message in an earlier window. `referral`: the first one. */
type OpenedWindow = { openedAt: number; isNew: boolean; referral: object | null }

type PlannedMessage = {
  readonly record: InboundRecord
  readonly conversation: PersonConversation
  readonly seq: number
}
type Placement = { readonly conversation: PersonConversation; readonly message: PlannedMessage | null } | undefined

export type InboundDecisions = {
  placements: Placement[]
  changes: ChangedConversation[]
  messages: PlannedMessage[]
  reactions: InboundRecord[]
}

/** Decides about a batch in order: each entry sees the changes to people made by earlier ones. */
export function decideInbound(entries: readonly InboundEntry[], { people, recorded }: InboundFacts): InboundDecisions {
  const seen = new Set(recorded)
  const changes = new Map<PersonConversation, ChangedConversation>()
  const decisions: Omit<InboundDecisions, 'changes'> = { placements: [], messages: [], reactions: [] }
  for (const [place, entry] of entries.entries()) {
    const company = people.get(entry.companyId)
    const key = recordKey(entry)
    const isKnown = company === undefined || (key !== undefined && seen.has(key))
    if (!isInboundRecord(entry)) {
      if (!isKnown) report(company, entry)
      continue
    }
    const customer = isKnown ? undefined : customerOf(company, entry)
    if (isKnown || customer === undefined) {
      decisions.placements.push(undefined)
      continue
    }
    if (key !== undefined) seen.add(key)
    attachContact(company, customer)
    const conversation = conversationOf(company, customer, entry)
    const change = changes.get(conversation) ?? newChange(entry.companyId, conversation)
    changes.set(conversation, change)
    const message = applyRecord(change, entry, place)
    if (message !== null) decisions.messages.push(message)
    else if (entry.wamid !== null && entry.targetWamid !== null) decisions.reactions.push(entry)
    decisions.placements.push({ conversation, message })
  }
  return { ...decisions, changes: [...changes.values()] }
}

export const isInboundRecord = (entry: InboundEntry): entry is InboundRecord =>
  entry.kind === 'message' || entry.kind === 'echo' || entry.kind === 'reaction'

function report(people: People, entry: IdentityEvent): void {
  if (entry.kind === 'number-change') changeNumber(people, entry.change)
  else if (entry.kind === 'user-id-change') changeUserId(people, entry.change)
  else if (entry.kind === 'answer') learnAnswer(people, entry.report)
  else if (entry.kind === 'introduction') identify(people, entry.customer)
  else learnRecipient(people, entry.report)
}

/** Returns when a record counts as written. `sentAt` is the provider's time, used for display. */
export const writtenAt = ({ sentAt, arrivedAt }: Pick<InboundRecord, 'sentAt' | 'arrivedAt'>): Date =>
  eventTime(sentAt, arrivedAt)

function customerOf(people: People, record: InboundRecord): Customer | undefined {
  const named = { ...record, at: writtenAt(record).getTime() }
  if (record.groupId !== null) return identifyGroup(people, record.groupId, named.at)
  const customer = identify(people, named)
  if (customer !== undefined && record.opensWindow) writeUnder(people, customer, named)
  return customer
}

function conversationOf(people: People, customer: Customer, record: InboundRecord): PersonConversation {
  const { senderId, account, userId } = record
  let conversation = customer.conversations.find((one) => one.senderId === senderId)
  if (conversation === undefined) {
    const id = nextId(people)
    const current = currentUserId(customer, account) ?? null
    conversation = { id, senderId, account, customerId: customer.id, userId: current, messageCount: 0, isClosed: false }
    customer.conversations.push(conversation)
  }
  // Another account in the same portfolio may have reported the user id.
  if (userId !== null && record.groupId === null && currentUserId(customer, account) === undefined) {
    if (customer.identities.get(userId)?.retiredAt === null) conversation.userId = userId
  }
  return conversation
}

const newChange = (companyId: number, conversation: PersonConversation): ChangedConversation => ({
  ...{ companyId, conversation, messages: 0, unread: 0, isAnswered: false, isWrittenTo: false },
  ...{ profileName: null, last: null, lastInboundAt: null, window: null, place: 0 },
})

/** Reactions change neither the message count nor the last text. */
function applyRecord(change: ChangedConversation, record: InboundRecord, place: number): PlannedMessage | null {
  const { conversation } = change
  change.place = place
  change.profileName = record.profileName ?? change.profileName
  if (record.opensWindow) {
    const openedAt = writtenAt(record).getTime()
    change.window = continueWindow(change, openedAt, record.context?.referral ?? null)
    change.lastInboundAt = Math.max(change.lastInboundAt ?? openedAt, openedAt)
  }
  if (record.kind === 'reaction') return null
  change.messages += 1
  change.last = record
  if (record.kind === 'echo') {
    change.isAnswered = true
    change.unread = 0
  } else {
    change.isWrittenTo = true
    change.unread += 1
    conversation.isClosed = false
  }
  return { record, conversation, seq: conversation.messageCount + change.messages }
}

/** Late messages from an earlier window must not affect the latest one. */
function continueWindow(
  { window, lastInboundAt }: ChangedConversation,
  openedAt: number,
  referral: object | null,
): OpenedWindow {
  if (window === null || lastInboundAt === null) return { openedAt, isNew: false, referral }
  if (openedAt >= lastInboundAt + WINDOW_MS) return { openedAt, isNew: true, referral }
  return openedAt <= lastInboundAt - WINDOW_MS ? window : { ...window, referral: window.referral ?? referral }
}

/**
 * Returns the reported time, capped at the arrival time. The cap rounds down to seconds, like providers do, so that
 * later events in the same second never look older.
 */
export function eventTime(reportedAt: Date | null, arrivedAt: Date): Date {
  if (reportedAt === null) return arrivedAt
  return reportedAt > arrivedAt ? new Date(Math.floor(arrivedAt.getTime() / 1000) * 1000) : reportedAt
}
