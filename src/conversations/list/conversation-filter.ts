export type ConversationStatus = 'open' | 'closed' | 'snoozed'

export type RankedMatch = { readonly id: number; readonly starts: boolean }

/** Few matches are listed by id; many are given as texts to look for in `search_text` and `profile_search`. */
export type SearchMatches =
  | { readonly contacts: readonly RankedMatch[]; readonly conversations: readonly RankedMatch[] }
  | { readonly texts: readonly string[]; readonly profileText: string | null }

export type ConversationFilter = {
  readonly status?: ConversationStatus | undefined
  readonly isUnread?: boolean | undefined
  readonly senderId?: number | undefined
  readonly assignee?: string | undefined
  readonly matches?: SearchMatches | undefined
  /** Conversations with a word starting with the search come first. */
  readonly isRanked?: boolean | undefined
}

export const MAX_FILTERED_OFFSET = 10_000
/** Per request, latest activity first, for searches with many matches. */
export const MAX_EXAMINED = 10_000
/** Ranking many matches reads the whole list for every page. */
export const MAX_RANKED = 1_000
