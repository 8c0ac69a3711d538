import type { Message } from '../../../client/src/generated/schemas.ts'
import { text } from '../../texts/text.ts'

const REASONS: Readonly<Record<number, string>> = text.failedReasons

/** Why a message failed: in our words where the code is known, then the provider's. */
export function reasonOf({ error }: Message): string {
  const own = error?.code == null ? undefined : REASONS[error.code]
  return [own ?? text.ticks.failed, wordsOf(error)].filter((part) => part).join('. ') + codeOf(error)
}

/** Why the content of a received message is missing, in the provider's words; undefined: it gives none. */
export function providersReason({ error }: Message): string | undefined {
  const words = wordsOf(error)
  return words === '' ? undefined : words + codeOf(error)
}

function wordsOf(error: Message['error']): string {
  const details = error?.details === error?.title ? null : error?.details
  return [error?.title, details].filter((part) => part).join(': ')
}

const codeOf = (error: Message['error']): string => (error?.code == null ? '' : ` (${error.code})`)
