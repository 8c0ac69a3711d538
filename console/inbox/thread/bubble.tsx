import type { ReactNode } from 'react'
import type { Message } from '../../../client/src/generated/schemas.ts'
import { classes } from '../../parts/classes.ts'
import { Icon } from '../../parts/icon.tsx'
import { time, utc } from '../../texts/format.ts'
import { text } from '../../texts/text.ts'
import { Media } from '../content/media.tsx'
import { Origin } from '../content/origin.tsx'
import { Quote } from '../content/quote.tsx'
import { RichText } from '../content/rich-text.tsx'
import { StructuredContent } from '../content/structured-content.tsx'
import { isPlaceholder, summaryOfMessage } from '../list/summary.ts'
import css from './bubble.module.css'
import { providersReason, reasonOf } from './failure-reason.ts'
import { Ticks } from './ticks.tsx'

type Props = {
  message: Message
  isGroup: boolean
  isFirst: boolean
  /** The actions for a message that failed. */
  actions?: ReactNode
}

/** A message as the customer or the business wrote it. Nothing of it is HTML. */
export function Bubble({ message, isGroup, isFirst, actions }: Props) {
  const {
    direction,
    kind,
    media,
    quotedWamid,
    reaction,
    timestampIso,
    editedAt,
    revokedAt,
    status,
    senderName,
    error,
  } = message
  const isOut = direction === 'outbound'
  const isIncomplete = status === 'received' && error !== null
  return (
    <div className={classes(css.row, isOut && css.out)} data-message={message.id}>
      {isFirst && (isOut || isGroup) && senderName && <p className={css.sender}>{senderName}</p>}
      <div
        className={classes(
          css.bubble,
          kind === 'image' && css.pictured,
          status === 'failed' && css.failed,
          status === 'unknown' && css.unknown,
        )}
      >
        <Origin message={message} />
        {quotedWamid !== null && <Quote message={message} />}
        {media && revokedAt === null && <Media message={message} />}
        <Content message={message} />
        <StructuredContent message={message} />
        <span className={css.meta}>
          {editedAt !== null && <span>{text.conversation.edited}</span>}
          {timestampIso !== null && (
            <time dateTime={timestampIso} title={utc(timestampIso)}>
              {time(timestampIso)}
            </time>
          )}
          {isOut && <Ticks status={status} />}
        </span>
        {reaction && (
          <span className={css.reaction} role="img" aria-label={text.conversation.reaction(reaction)}>
            {reaction}
          </span>
        )}
      </div>
      {status === 'failed' && <Fault>{reasonOf(message)}</Fault>}
      {status === 'failed' && actions}
      {isIncomplete && <Fault isUnknown>{providersReason(message) ?? text.conversation.notPassedOn}</Fault>}
      {status === 'unknown' && <Fault isUnknown>{text.ticks.unknown}</Fault>}
    </div>
  )
}

function Content({ message }: { message: Message }) {
  const { kind, text: content, media, location, contacts, order, call, reply, revokedAt } = message
  // The name of a location is on its card.
  if (content === null || location !== null || call !== null) return null
  if (reply?.callPermission) return <span className={css.text}>{permissionOf(reply.callPermission)}</span>
  const isNamed = isPlaceholder(kind, content)
  if (isNamed && (media ?? contacts ?? order) !== null) return null
  return (
    <span className={classes(css.text, (isNamed || revokedAt !== null) && css.revoked)} dir="auto">
      {isNamed ? summaryOfMessage(message) : <RichText text={content} />}
    </span>
  )
}

const permissionOf = ({ response }: { response: string | null }): string =>
  text.conversation.callPermission[response === 'accept' ? 'granted' : 'refused']

/** A line below a bubble that says what is wrong with it. */
export function Fault({ isUnknown = false, children }: { isUnknown?: boolean; children: ReactNode }) {
  return (
    <div className={classes(css.fault, isUnknown && css.unsure)}>
      <Icon name={isUnknown ? 'unknown' : 'alert'} size={14} />
      <span>{children}</span>
    </div>
  )
}
