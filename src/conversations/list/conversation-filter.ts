export type ConversationStatus = 'open' | 'closed' | 'snoozed'

/**
 * The conversations that a search matches. Few: those of these contacts, and these. Many: those whose contact has one of the
 * texts in its `search_text`, or that have the profile text in their `profile_search`.
 */
export type SearchMatches =
  | { readonly contactIds: readonly number[]; readonly conversationIds: readonly number[] }
  | { readonly texts: readonly string[]; readonly profileText: string | null }

/** The conversations that a list shows: those that fit every member. */
export type ConversationFilter = {
  readonly status?: ConversationStatus | undefined
  readonly isUnread?: boolean | undefined
  readonly senderId?: number | undefined
  readonly assignee?: string | undefined
  readonly matches?: SearchMatches | undefined
}

/** The records that a filtered list pages through; cursors go on beyond them. */
export const MAX_FILTERED_OFFSET = 10_000
/** Conversations that one request looks at for a search that matches many, latest activity first. */
export const MAX_EXAMINED = 10_000
