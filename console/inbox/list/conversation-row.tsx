import { Link } from '@tanstack/react-router'
import type { Conversation } from '../../../client/src/generated/schemas.ts'
import { Avatar } from '../../parts/avatar.tsx'
import { classes } from '../../parts/classes.ts'
import { moment, utc } from '../../texts/format.ts'
import { text } from '../../texts/text.ts'
import { useDraftText } from '../composer/draft.ts'
import { Ticks } from '../thread/ticks.tsx'
import css from './conversation-row.module.css'
import { summaryOf } from './summary.ts'

export const ROW_PX = 68

/** A conversation in the list: name, last message, time, and the number of unread messages. */
export function ConversationRow({ record }: { record: Conversation }) {
  const { chatId, contact, lastMessage, unreadMessages, assignee, status } = record
  const title = nameOf(record)
  const draft = useDraftText(chatId)
  return (
    <Link
      to="/inbox/{-$chatId}"
      params={{ chatId: String(chatId) }}
      from="/inbox/{-$chatId}"
      search={(search) => search}
      className={css.row ?? ''}
      activeProps={{ className: css.active ?? '' }}
      data-chat={chatId}
      data-unread={unreadMessages > 0}
    >
      <Avatar name={contact.name} seed={contact.id} />
      <span className={css.main}>
        <span className={css.line}>
          <bdi className={css.name}>{title}</bdi>
          {lastMessage && (
            <time className={css.time} dateTime={lastMessage.timestampIso} title={utc(lastMessage.timestampIso)}>
              {moment(lastMessage.timestampIso)}
            </time>
          )}
        </span>
        <span className={css.line}>
          {draft === '' && lastMessage?.direction === 'outbound' && lastMessage.status !== null && (
            <Ticks status={lastMessage.status} isBrief />
          )}
          <span className={css.text} dir="auto">
            {draft !== '' && <span className={css.draft}>{text.inbox.draft}: </span>}
            {draft === '' && lastMessage?.direction === 'outbound' && (
              <span className={css.you}>{text.inbox.you}: </span>
            )}
            {draft || (lastMessage && summaryOf(lastMessage))}
          </span>
          {assignee && (
            <span className={css.assignee} title={assignee}>
              {assignee}
            </span>
          )}
          {status !== 'open' && <span className={css.assignee}>{text.status[status]}</span>}
          {unreadMessages > 0 && (
            <span className={css.unread}>
              <span aria-hidden="true">{text.inbox.unreadShort(unreadMessages)}</span>
              <span className={css.hidden}>{text.inbox.unreadCount(unreadMessages)}</span>
            </span>
          )}
        </span>
      </span>
    </Link>
  )
}

/** A row whose page is on its way. */
export const EmptyRow = () => (
  <div className={classes(css.row, css.waiting)} aria-hidden="true">
    <span className={css.dot} />
    <span className={css.bars} />
  </div>
)

/** The name of the customer, else the number. */
export function nameOf({ contact, groupId }: Conversation): string {
  if (contact.name !== null && contact.name.trim() !== '') return contact.name
  if (contact.phone !== null) return text.phoneNumber(contact.phone)
  return groupId === null ? text.inbox.hiddenPhone : text.inbox.group
}
