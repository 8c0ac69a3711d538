import type { Message } from '../../../client/src/generated/schemas.ts'
import { text } from '../../texts/text.ts'
import { at, listOf } from '../content/json-content.ts'

/** A message as one line of text. */
type Summarized = { kind: string | null; text: string | null; itemCount?: number | null }

const LABELS: Readonly<Record<string, string>> = text.kinds
/** The text of a message that was deleted or erased, whatever it was. */
const GONE: ReadonlySet<string | null> = new Set(['[revoked]', '[erased]'])

/** A message in one line: its kind, unless it is a text, and its own words. */
export function summaryOf({ kind, text: content, itemCount = null }: Summarized): string {
  if (content === '[call_permission_reply]') return text.conversation.callPermission.asked
  const label = labelOf(kind ?? 'text', itemCount)
  if (label === undefined || GONE.has(content)) return content ?? ''
  return content === null || isPlaceholder(kind, content) ? label : `${label}: ${content}`
}

/** The one line of a message of the thread. */
export const summaryOfMessage = ({ kind, text: content, contacts, order }: Message): string =>
  summaryOf({ kind, text: content, itemCount: contacts?.length ?? itemsOf(order).length })

/** The items of an order. */
export const itemsOf = (order: Message['order']): readonly unknown[] => listOf(at(order, 'product_items'))

/** Whether the text only names the kind. */
export const isPlaceholder = (kind: string | null, content: string): boolean =>
  LABELS[kind ?? 'text'] !== undefined &&
  (content === `[${kind}]` ||
    (kind === 'image' && content === '[sticker]') ||
    (kind === 'unsupported' && content.startsWith('[unsupported')))

function labelOf(kind: string, itemCount: number | null): string | undefined {
  if (kind === 'contacts' && itemCount !== null) return text.contactCount(itemCount)
  if (kind === 'order' && itemCount !== null && itemCount > 0) return text.orderCount(itemCount)
  return LABELS[kind]
}
