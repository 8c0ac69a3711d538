import type { RequestFault } from '../http/errors/fault.ts'
import { type AppError, type FieldFault, invalidPhoneNumber, missingRecipient } from '../platform/errors.ts'

/** Returns the send's own errors for `recipient` (spec: Errors): missing, empty or no phone number. */
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
