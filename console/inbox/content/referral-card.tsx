import type { Message } from '../../../client/src/generated/schemas.ts'
import { Icon } from '../../parts/icon.tsx'
import { text } from '../../texts/text.ts'
import { textAt } from './json-content.ts'
import css from './structured-content.module.css'

/** The ad or post that the customer came from. It is another host's, so it opens on a click only. */
export function ReferralCard({ referral }: { referral: Message['referral'] }) {
  const url = URL.parse(textAt(referral, 'source_url') ?? '')
  return (
    <div className={css.origin} dir="auto">
      <p>{textAt(referral, 'source_type') === 'post' ? text.conversation.fromPost : text.conversation.fromAd}</p>
      {textAt(referral, 'headline') && <p className={css.title}>{textAt(referral, 'headline')}</p>}
      {textAt(referral, 'body') && <p>{textAt(referral, 'body')}</p>}
      {url?.protocol === 'https:' && (
        <a className={css.link} href={url.href} target="_blank" rel="noreferrer">
          <Icon name="external" size={14} />
          {text.conversation.openAd}
        </a>
      )}
    </div>
  )
}
