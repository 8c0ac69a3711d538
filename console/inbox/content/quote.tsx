import type { Message } from '../../../client/src/generated/schemas.ts'
import { text } from '../../texts/text.ts'
import { summaryOf } from '../list/summary.ts'
import css from './quote.module.css'

/** The message that an answer quotes, in one line. */
export function Quote({ message: { quoted } }: { message: Message }) {
  if (quoted === null) return <blockquote className={css.quote}>{text.conversation.quotedUnknown}</blockquote>
  return (
    <blockquote className={css.quote}>
      <bdi className={css.writer}>{quoted.senderName ?? text.conversation.writers[quoted.direction]}</bdi>
      <span className={css.line} dir="auto">
        {summaryOf(quoted)}
      </span>
    </blockquote>
  )
}
