import { digitsOf } from '../phone.ts'
import type { Refusal } from './graph-error.ts'

/** Recipients whose number ends like this never get their message. */
const REFUSED: Record<string, Refusal> = {
  '00131026': { code: 131026, details: 'The recipient is not on WhatsApp' },
  '00131047': { code: 131047, details: 'More than 24 hours have passed since the recipient last replied' },
  '00130429': { code: 130429, details: 'Cloud API message throughput has been reached' },
  '00000190': { code: 190, details: 'The session has been invalidated' },
  '00000500': { code: 131000, status: 500, details: 'Message failed to send because of an unknown error' },
}

const SILENT = '00000000'

/** The behaviour of a special recipient: refused with a code, accepted without ever an answer, or nothing. */
export function magicOf(to: string): { refusal: Refusal } | 'silent' | undefined {
  const ending = digitsOf(to).slice(-8)
  if (ending === SILENT) return 'silent'
  const refusal = REFUSED[ending]
  return refusal && { refusal }
}
