export type ConversationStatus = 'open' | 'closed' | 'snoozed'

/** A contact or conversation that a search matches; whether a word of it starts with the search. */
export type RankedMatch = { readonly id: number; readonly starts: boolean }

/**
 * The conversations that a search matches. Few: those of these contacts, and these. Many: those whose contact has one of the
 * texts in its `search_text`, or that have the profile text in their `profile_search`.
 */
export type SearchMatches =
  | { readonly contacts: readonly RankedMatch[]; readonly conversations: readonly RankedMatch[] }
  | { readonly texts: readonly string[]; readonly profileText: string | null }

/** The conversations that a list shows: those that fit every member. */
export type ConversationFilter = {
  readonly status?: ConversationStatus | undefined
  readonly isUnread?: boolean | undefined
  readonly senderId?: number | undefined
  readonly assignee?: string | undefined
  readonly matches?: SearchMatches | undefined
  /** Conversations with a word that starts with the search come before all others. */
  readonly isRanked?: boolean | undefined
}

/** The records that a filtered list pages through; cursors go on beyond them. */
export const MAX_FILTERED_OFFSET = 10_000
/** Conversations that one request looks at for a search that matches many, latest activity first. */
export const MAX_EXAMINED = 10_000
/** A search that matches many is ranked in lists of up to so many conversations: it reads all of them for a page. */
export const MAX_RANKED = 1_000
