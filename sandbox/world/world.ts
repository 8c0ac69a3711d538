import { type Behaviour, calmBehaviour } from '../behaviour.ts'
import type { Clock } from '../clock.ts'
import { createReceiverShelf, type ReceiverShelf } from '../receivers/receiver.ts'
import type { Account, PhoneNumber } from './account.ts'
import { DEMO_ACCOUNT, DEMO_NUMBERS, demoTemplates } from './demo.ts'
import type { createFeed, WrittenLine } from './feed.ts'
import { createMediaShelf, type MediaShelf } from './media-shelf.ts'
import { Ring } from './ring.ts'
import { createTemplateBook, type TemplateBook } from './template-book.ts'

/** A message that we accepted. `body` is the JSON text as it came: parsed again only when someone asks. */
export type Accepted = {
  wamid: string
  phoneNumberId: string
  to: string
  body: string
  at: Date
  /** Sent through Gupshup: its own id, which the answer gave, and its app. */
  gupshup?: { id: string; appId: string } | undefined
  /** It came to the address for marketing. */
  isMarketing?: boolean
}

/** A customer's message that was marked as read; `isTyping`: with the mark that an answer is being written. */
export type Receipt = { wamid: string; phoneNumberId: string; isTyping: boolean; at: Date }

/** A mail that the mail server accepted: its envelope and its content. */
export type Received = { from: string; to: string[]; raw: Buffer; at: Date }

/** Everything that the provider knows at a moment. */
export type World = {
  accounts: Map<string, Account>
  numbers: Map<string, PhoneNumber>
  templates: TemplateBook
  messages: Ring<Accepted>
  receipts: Ring<Receipt>
  /** The lines that customers wrote through the control address. */
  written: Ring<WrittenLine>
  /** The last status of messages, by wamid; of the newest ones only. */
  statuses: Map<string, string>
  feed: ReturnType<typeof createFeed>
  mails: Ring<Received>
  media: MediaShelf
  /** Samples of headers: sessions with the length of their files, and the handles that are known. */
  samples: { sessions: Map<string, number>; handles: Set<string> }
  behaviour: Behaviour
  /** The companies' own endpoints. */
  receivers: ReceiverShelf
}

export type WorldOptions = { messageLimit: number; autoStatus: boolean; clock: Clock; feed: World['feed'] }

const WRITTEN_KEPT = 1_000

/** The world at the start: the demo account, its two numbers and its templates; nothing sent yet. */
export const createWorld = (options: WorldOptions): World => ({
  accounts: new Map([[DEMO_ACCOUNT.id, { ...DEMO_ACCOUNT }]]),
  numbers: new Map(DEMO_NUMBERS.map((number) => [number.id, { ...number }])),
  templates: createTemplateBook(demoTemplates()),
  messages: new Ring<Accepted>(options.messageLimit),
  receipts: new Ring<Receipt>(options.messageLimit),
  written: new Ring<WrittenLine>(WRITTEN_KEPT),
  statuses: new Map(),
  feed: options.feed,
  mails: new Ring<Received>(options.messageLimit),
  media: createMediaShelf(),
  samples: { sessions: new Map(), handles: new Set() },
  behaviour: calmBehaviour(options.autoStatus),
  receivers: createReceiverShelf(options.clock),
})
