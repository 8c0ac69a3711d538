import type { QuickReply } from '../../../../client/src/generated/schemas.ts'
import { fold } from '../../../../src/platform/text/search-text.ts'

const NAME = /\{\{\s*name\s*\}\}/g

/** Those whose title begins with the text come before those that contain it. */
export function matching(replies: readonly QuickReply[], asked: string): QuickReply[] {
  const part = fold(asked)
  const rank = ({ title, text }: QuickReply): number => {
    if (fold(title).startsWith(part)) return 0
    return fold(title).includes(part) ? 1 : fold(text).includes(part) ? 2 : 3
  }
  return replies.filter((one) => rank(one) < 3).sort((one, other) => rank(one) - rank(other))
}

/** The text for a contact; without a name the place of it closes, and the text begins with a capital letter. */
export function withName(text: string, contactName: string | null): string {
  const name = contactName?.trim() ?? ''
  if (name !== '') return text.replace(NAME, () => name)
  if (!text.match(NAME)) return text
  const closed = text.replace(/[ \t]*\{\{\s*name\s*\}\}/g, '').replace(/^[\s,;:.!?]+/, '')
  return closed.charAt(0).toUpperCase() + closed.slice(1)
}
