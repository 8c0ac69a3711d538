import type { RequestFault } from '../http/errors/fault.ts'
import { type AppError, missingRecipientAddress } from '../platform/errors.ts'
import { memberOf } from '../platform/text/own-member.ts'

/** The email endpoints' own messages for a recipient that is absent or empty (spec: Errors). */
export const refuseEmail =
  (member: 'to' | 'recipient') =>
  (faults: readonly RequestFault[], body: unknown): AppError | undefined => {
    const isAbsent = faults.some(({ path, kind }) => path === member && kind === 'shape')
    return isAbsent || isEmptyMember(body, member) ? missingRecipientAddress() : undefined
  }

const isEmptyMember = (body: unknown, member: string): boolean => memberOf(body, member) === ''
