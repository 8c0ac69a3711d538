import type { Message } from '../../../client/src/generated/schemas.ts'
import { money } from '../../texts/format.ts'
import { text } from '../../texts/text.ts'
import { itemsOf } from '../list/summary.ts'
import { numberAt, textAt } from './json-content.ts'
import css from './structured-content.module.css'

const SHOWN_ITEMS = 20

/** The order of a customer: products, prices and the total, where all have the same currency. */
export function OrderCard({ order }: { order: Message['order'] }) {
  const lines = itemsOf(order).map(lineOf)
  const total = totalOf(lines)
  return (
    <div className={css.card}>
      <p className={css.title}>{lines.length > 0 ? text.orderCount(lines.length) : text.kinds.order}</p>
      <ul className={css.lines}>
        {lines.slice(0, SHOWN_ITEMS).map(({ quantity, product, price, currency }, place) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the lines of an order do not change
          <li key={place} className={css.line}>
            <span>
              {quantity} × <bdi>{product}</bdi>
            </span>
            {price !== undefined && <span className={css.amount}>{money(price, currency)}</span>}
          </li>
        ))}
        {lines.length > SHOWN_ITEMS && <li>{text.conversation.more(lines.length - SHOWN_ITEMS)}</li>}
        {total && (
          <li className={css.line}>
            <span>{text.conversation.total}</span>
            <span className={css.amount}>{total}</span>
          </li>
        )}
      </ul>
    </div>
  )
}

type Line = { quantity: number; product: string; price: number | undefined; currency: string }

const lineOf = (item: unknown): Line => ({
  quantity: numberAt(item, 'quantity') ?? 1,
  product: textAt(item, 'product_retailer_id') ?? text.conversation.product,
  price: numberAt(item, 'item_price'),
  currency: textAt(item, 'currency') ?? '',
})

function totalOf(lines: readonly Line[]): string | undefined {
  const [first] = lines
  if (first === undefined || lines.some(({ price, currency }) => price === undefined || currency !== first.currency)) {
    return undefined
  }
  const sum = lines.reduce((before, { quantity, price = 0 }) => before + quantity * price, 0)
  return money(sum, first.currency)
}
