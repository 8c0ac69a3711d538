/** The events of the live stream that are about a record or a person. */
export const TOPICS = ['conversation', 'message', 'answering', 'delivery', 'import', 'contact', 'scheduled'] as const
export type Topic = (typeof TOPICS)[number]

/** A change: a record by its id (`scheduled`: a conversation, whose scheduled messages changed), an agent who writes an answer, or
 * everything. */
export type LiveChange =
  | { readonly topic: Exclude<Topic, 'answering'>; readonly companyId: number; readonly id: number }
  | { readonly topic: 'answering'; readonly companyId: number; readonly chatId: number; readonly name: string }
  | { readonly topic: 'all'; readonly companyId: number }

/** Publishes a committed change to the live streams of all processes. Never throws and waits for nothing. */
export type Publish = (changes: readonly LiveChange[]) => void
