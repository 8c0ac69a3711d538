import { ApiError } from '../../client.ts'
import { text } from '../../texts/text.ts'
import { requestFaults } from '../forms/field-fault.ts'
import type { IconName } from '../icon.tsx'

/** How a failure is shown: its icon, title and explanation. */
export function describe({ status, message }: ApiError): { icon: IconName; title: string; explanation: string | null } {
  const { failure } = text
  if (status === 0) return { icon: 'offline', title: failure.title, explanation: failure.offline }
  if (status === 403) {
    const permission = /\b(WhatsApp|Transactional|ContactsUpsert)\b/.exec(message)?.[1] ?? null
    return { icon: 'lock', title: failure.forbiddenTitle, explanation: failure.forbidden(permission) }
  }
  if (status === 404) return { icon: 'unknown', title: failure.notFound, explanation: failure.notFoundText }
  if (status === 429) return { icon: 'clock', title: failure.tooMany, explanation: null }
  if (status === 503) return { icon: 'alert', title: failure.title, explanation: failure.busy }
  const explanation = status >= 500 || message === '' ? failure.server : message
  return { icon: 'alert', title: failure.title, explanation }
}

/** One line for a failed action, beside the control that caused it. */
export function faultText(error: unknown): string {
  const fault = error instanceof ApiError ? error : new ApiError('', { status: 500 })
  if (fault.fields.length > 0) return requestFaults(fault)
  if (fault.status === 429) return text.failure.slowDown(fault.retryAfter ?? 5)
  if (fault.status === 403 || (fault.status === 500 && fault.message !== '')) return fault.message
  return describe(fault).explanation ?? text.failure.server
}
