import { useInfiniteQuery } from '@tanstack/react-query'
import { type ReactNode, useEffect, useRef } from 'react'
import type { Conversation, Message } from '../../../client/src/generated/schemas.ts'
import { Empty } from '../../parts/feedback/empty.tsx'
import { Failure } from '../../parts/feedback/failure.tsx'
import { useSession } from '../../shell/session-context.ts'
import { day, isSameDay } from '../../texts/format.ts'
import { text } from '../../texts/text.ts'
import { useAnswering } from '../composer/answering.ts'
import { notShown, useOutgoing } from '../composer/outbox.ts'
import { MessagesSkeleton } from '../list/conversation-skeleton.tsx'
import { inOrder, messagesQuery } from '../message-queries.ts'
import { Bubble } from './bubble.tsx'
import { FailedActions } from './failed-actions.tsx'
import css from './message-list.module.css'
import { OutgoingBubble } from './outgoing-bubble.tsx'
import { useWindow } from './window.ts'

/** The messages, the newest at the lower edge; older ones load at the upper edge. */
export function MessageList({ record }: { record: Conversation }) {
  const { chatId } = record
  const query = useInfiniteQuery(messagesQuery(chatId))
  const outgoing = useOutgoing()
  const answering = useAnswering(chatId)
  const canWrite = useWindow(record, useSession().features.sessionWindow).state !== 'closed'
  if (query.data === undefined) {
    return (
      <div className={css.whole}>
        {query.error ? <Failure error={query.error} retry={query.refetch} /> : <MessagesSkeleton />}
      </div>
    )
  }
  const messages = inOrder(query.data)
  const waiting = notShown(outgoing, chatId, messages)
  if (messages.length + waiting.length === 0) {
    return (
      <div className={css.whole}>
        <Empty icon="inbox" title={text.conversation.empty} text={text.conversation.emptyText} />
      </div>
    )
  }
  return (
    // A reversed column keeps the newest message in view while content grows at either edge.
    // biome-ignore lint/a11y/noNoninteractiveTabindex: the region scrolls, so the keyboard must reach it
    <section className={css.scroller} tabIndex={0} aria-label={text.conversation.messages}>
      <div className={css.list}>
        {query.hasNextPage ? (
          <Older onReach={query.fetchNextPage} />
        ) : (
          <p className={css.note}>{text.conversation.start}</p>
        )}
        <ol className={css.messages}>
          {messages.map((message, index) => (
            <Row
              key={message.id}
              message={message}
              before={messages[index - 1]}
              isGroup={record.groupId !== null}
              actions={
                canWrite &&
                message.status === 'failed' && (
                  <FailedActions message={message} chatId={chatId} newestId={messages.at(-1)?.id ?? message.id} />
                )
              }
            />
          ))}
          {waiting.map((one) => (
            <li key={one.key} className={css.item}>
              <OutgoingBubble outgoing={one} />
            </li>
          ))}
        </ol>
        <p className={css.answering} aria-live="polite">
          {answering && text.conversation.answering(answering)}
        </p>
      </div>
    </section>
  )
}

type RowProps = { message: Message; before: Message | undefined; isGroup: boolean; actions: ReactNode }

function Row({ message, before, isGroup, actions }: RowProps) {
  const at = message.timestampIso
  const beforeAt = before?.timestampIso
  const isNewDay = at !== null && (beforeAt == null || !isSameDay(new Date(at), new Date(beforeAt)))
  const isOther = before?.direction !== message.direction || before.senderName !== message.senderName
  const isFirst = isNewDay || isOther
  return (
    <li className={css.item} data-first={isFirst}>
      {isNewDay && <h3 className={css.day}>{day(at)}</h3>}
      <Bubble message={message} isGroup={isGroup} isFirst={isFirst} actions={actions} />
    </li>
  )
}

/** Loads the next page when it comes into view. */
function Older({ onReach }: { onReach: () => unknown }) {
  const mark = useRef<HTMLParagraphElement>(null)
  useEffect(() => {
    if (mark.current === null) return
    const watch = new IntersectionObserver(([entry]) => entry?.isIntersecting && onReach(), { rootMargin: '400px' })
    watch.observe(mark.current)
    return () => watch.disconnect()
  }, [onReach])
  return (
    <p ref={mark} className={css.note}>
      {text.conversation.older}
    </p>
  )
}
