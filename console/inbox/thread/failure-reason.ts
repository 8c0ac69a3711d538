import type { Message } from '../../../client/src/generated/schemas.ts'
import { text } from '../../texts/text.ts'

const REASONS: Readonly<Record<number, string>> = text.failedReasons

/** Why a message failed: in our words where the code is known, then the provider's. */
export function reasonOf({ error }: Message): string {
  const own = error?.code == null ? undefined : REASONS[error.code]
  const details = error?.details === error?.title ? null : error?.details
  const providers = [error?.title, details].filter((part) => part).join(': ')
  const code = error?.code == null ? '' : ` (${error.code})`
  return [own ?? text.ticks.failed, providers].filter((part) => part).join('. ') + code
}
