import { Icon } from '../../../parts/icon.tsx'
import { showMarked } from '../../../parts/lists/listbox.ts'
import { teamText } from '../../../texts/team.ts'
import type { useQuickReplies } from './quick-replies.ts'
import css from './quick-reply-list.module.css'

/** The quick replies to choose from, above the answer. The focus stays in its field. */
export function QuickReplyList({ replies }: { replies: ReturnType<typeof useQuickReplies> }) {
  const { options, list, option, isEmpty } = replies
  if (isEmpty) {
    return (
      <div className={css.popup} role="status">
        <p className={css.none}>
          <Icon name="bolt" />
          <span>
            <strong>{teamText.none}</strong>
            <br />
            {teamText.noneText}
          </span>
        </p>
      </div>
    )
  }
  if (options.length === 0) return null
  return (
    <ul {...list} className={css.popup} aria-label={teamText.quickReplies}>
      {options.map((reply, place) => (
        <li key={reply.id} {...option(place, reply)} ref={showMarked} className={css.option}>
          <span className={css.title} dir="auto">
            /{reply.title}
          </span>
          <span className={css.text} dir="auto">
            {reply.text}
          </span>
        </li>
      ))}
    </ul>
  )
}
