import type { Message } from '../../../client/src/generated/schemas.ts'
import { classes } from '../../parts/classes.ts'
import { Icon } from '../../parts/icon.tsx'
import { text } from '../../texts/text.ts'
import css from './structured-content.module.css'

/** A call: what became of it, and how long it took. */
export function CallCard({ call }: { call: NonNullable<Message['call']> }) {
  const { direction, status, startedAt, endedAt } = call
  const wasAnswered = status === 'completed' && startedAt !== null && endedAt !== null
  return (
    <div className={css.card}>
      <p className={classes(css.title, css.call, status === 'missed' && direction === 'inbound' && css.missed)}>
        <Icon name="handset" />
        {text.conversation.calls[direction][status]}
      </p>
      {wasAnswered && <p>{text.conversation.lasted(secondsBetween(startedAt, endedAt))}</p>}
    </div>
  )
}

const secondsBetween = (start: string, end: string): number =>
  Math.max(0, Math.round((Date.parse(end) - Date.parse(start)) / 1000))
