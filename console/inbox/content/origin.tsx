import type { Message } from '../../../client/src/generated/schemas.ts'
import { Icon } from '../../parts/icon.tsx'
import { text } from '../../texts/text.ts'
import { textAt } from './json-content.ts'
import { ReferralCard } from './referral-card.tsx'
import css from './structured-content.module.css'

/** Where a message comes from: another chat, an ad, or the page of a product. */
export function Origin({ message }: { message: Message }) {
  const { forwarded, frequentlyForwarded, referral, referredProduct } = message
  const product = textAt(referredProduct, 'product_retailer_id') ?? text.conversation.product
  return (
    <>
      {forwarded && (
        <p className={css.mark}>
          <Icon name="forward" size={14} />
          {frequentlyForwarded ? text.conversation.forwardedOften : text.conversation.forwarded}
        </p>
      )}
      {referral !== null && <ReferralCard referral={referral} />}
      {referredProduct !== null && (
        <p className={css.mark} dir="auto">
          {text.conversation.aboutProduct(product)}
        </p>
      )}
    </>
  )
}
