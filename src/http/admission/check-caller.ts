import { companyMoving, forbidden } from '../../platform/errors.ts'
import type { Caller, Permission } from './caller.ts'

/** @throws {AppError} 503 `service_unavailable` with `Retry-After` while the company moves to another installation */
export function refuseLocked({ isLocked }: Caller): void {
  if (isLocked) throw companyMoving()
}

/**
 * Passes when the caller has at least one of the permissions.
 * @throws {AppError} 403 `forbidden` that names them
 */
export function checkPermission(caller: Caller, permissions: readonly Permission[]): void {
  if (permissions.some((permission) => caller.permissions.includes(permission))) return
  throw forbidden(`The ${kindOf(caller)} needs the permission ${permissions.join(' or ')}`)
}

const kindOf = ({ clientId }: Caller): string => (clientId.startsWith('console:') ? 'session' : 'API key')
