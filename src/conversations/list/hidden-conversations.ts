import type { Db } from '../../db/connect.ts'
import { findHidden, type HiddenMatches } from '../../http/paging/hidden-matches.ts'
import type { ConversationFilter } from './conversation-filter.ts'
import { countFiltered } from './conversation-list-store.ts'

/** The filters of a list, by their names in its query. */
const MEMBERS = { status: 'status', unread: 'isUnread', channelId: 'senderId', assignee: 'assignee' } as const
const NAMES = ['status', 'unread', 'channelId', 'assignee'] as const

/** The conversations that a search would find without its filters; called when it finds none with them. */
export async function findHiddenConversations(
  db: Db,
  companyId: number,
  filter: ConversationFilter,
): Promise<HiddenMatches | null> {
  const { matches } = filter
  const present = NAMES.filter((name) => filter[MEMBERS[name]] !== undefined)
  if (matches === undefined || present.length === 0) return null
  return findHidden(present, (kept) => {
    const others = Object.fromEntries(kept.map((name) => [MEMBERS[name], filter[MEMBERS[name]]]))
    return countFiltered(db, companyId, { ...others, matches })
  })
}
