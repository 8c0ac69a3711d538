import type { RecordClaim } from '../../people/contact-record.ts'
import { badRequest, type FieldFault, invalidPhoneNumber, validationError } from '../../platform/errors.ts'

export type ContactFaults = { missing: FieldFault[]; shape: FieldFault[]; email: FieldFault[]; phone: FieldFault[] }

export function refuseClaims(claims: readonly RecordClaim[]): void {
  const faults: ContactFaults = { missing: [], shape: [], email: [], phone: [] }
  for (const { fault } of claims) {
    const { kind, path, message } = fault
    faults[kind === 'value' ? 'shape' : kind].push({ path, message })
  }
  throwFaults(faults)
}

export function throwFaults(faults: ContactFaults): void {
  const values = [...faults.shape, ...faults.email, ...faults.phone]
  if (faults.missing.length > 0) {
    throw badRequest('A contact needs an email or a phone', [...faults.missing, ...values])
  }
  if (faults.email.length > 0) throw validationError(values, 'Invalid email format')
  if (faults.shape.length > 0) throw validationError(values)
  if (faults.phone.length > 0) throw invalidPhoneNumber(...faults.phone)
}
