import { type AppError, type FieldFault, invalidPhoneNumber, missingRecipient } from '../errors.ts'

/**
 * The send's own words for faults of `recipient` (spec: Errors): absent or empty, and not a phone number. Every other
 * fault is answered as everywhere.
 */
export function refuseSend(
  faults: readonly (FieldFault & { isMissing: boolean; value: unknown })[],
): AppError | undefined {
  const recipient = faults.filter((fault) => fault.path === 'recipient')
  if (recipient.some((fault) => fault.isMissing || fault.value === '')) return missingRecipient()
  if (recipient.length > 0 && recipient.length === faults.length) return invalidPhoneNumber('recipient')
  return undefined
}
