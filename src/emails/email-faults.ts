import type { RequestFault } from '../http/errors/fault.ts'
import { type AppError, missingRecipientAddress } from '../platform/errors.ts'
import { memberOf } from '../platform/text/json-text.ts'

/** Returns the email endpoints' own error for a missing or empty recipient (spec: Errors). */
export const refuseEmail =
  (member: 'to' | 'recipient') =>
  (faults: readonly RequestFault[], body: unknown): AppError | undefined => {
    const isAbsent = faults.some(({ path, kind }) => path === member && kind === 'shape')
    return isAbsent || isEmptyMember(body, member) ? missingRecipientAddress() : undefined
  }

const isEmptyMember = (body: unknown, member: string): boolean => memberOf(body, member) === ''
