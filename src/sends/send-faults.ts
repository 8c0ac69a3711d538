import type { RequestFault } from '../http/errors/fault.ts'
import { type AppError, type FieldFault, invalidPhoneNumber, missingRecipient } from '../platform/errors.ts'

/**
 * The send's own messages for faults of `recipient` (spec: Errors): absent or empty, and not a phone number. Every other
 * fault is answered as everywhere.
 */
export function refuseSend(
  faults: readonly (FieldFault & Pick<RequestFault, 'kind'>)[],
  body: unknown,
): AppError | undefined {
  const ofRecipient = faults.filter(({ path }) => path === 'recipient')
  if (ofRecipient.some(({ kind }) => kind === 'shape') || isEmptyRecipient(body)) return missingRecipient()
  if (ofRecipient.length > 0 && ofRecipient.length === faults.length)
    return invalidPhoneNumber(...ofRecipient.map(({ path, message }) => ({ path, message })))
  return undefined
}

const isEmptyRecipient = (body: unknown): boolean =>
  typeof body === 'object' && body !== null && 'recipient' in body && body.recipient === ''
