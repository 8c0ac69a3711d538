export type ConversationStatus = 'open' | 'closed' | 'snoozed'

/** The contacts that a search matches: by their ids, or by texts of which `search_text` holds one. */
export type MatchedContacts = { readonly ids: readonly number[] } | { readonly texts: readonly string[] }

/** The conversations that a list shows: those that fit every member. */
export type ConversationFilter = {
  readonly status?: ConversationStatus | undefined
  readonly isUnread?: boolean | undefined
  readonly senderId?: number | undefined
  readonly assignee?: string | undefined
  readonly contacts?: MatchedContacts | undefined
}

/** The records that a filtered list pages through; cursors go on beyond them. */
export const MAX_FILTERED_OFFSET = 10_000
/** Conversations that one request looks at for a search that matches many contacts, latest activity first. */
export const MAX_EXAMINED = 10_000
