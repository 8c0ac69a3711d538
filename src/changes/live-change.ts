export const TOPICS = ['conversation', 'message', 'answering', 'delivery', 'import', 'contact', 'scheduled'] as const
export type Topic = (typeof TOPICS)[number]

/** `scheduled` carries a conversation id. */
export type LiveChange =
  | { readonly topic: Exclude<Topic, 'answering'>; readonly companyId: number; readonly id: number }
  | { readonly topic: 'answering'; readonly companyId: number; readonly chatId: number; readonly name: string }
  | { readonly topic: 'all'; readonly companyId: number }

/** Publishes committed changes to the live streams of all processes. Never throws or blocks. */
export type Publish = (changes: readonly LiveChange[]) => void
