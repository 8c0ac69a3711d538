import { companyMoving, forbidden } from '../../platform/errors.ts'
import type { Caller, Permission } from './caller.ts'

/** @throws {AppError} 503 `service_unavailable` with `Retry-After` during a company move */
export function refuseLocked({ isLocked }: Caller): void {
  if (isLocked) throw companyMoving()
}

/** @throws {AppError} 403 `forbidden` unless the caller has one of the permissions */
export function checkPermission(caller: Caller, permissions: readonly Permission[]): void {
  if (permissions.some((permission) => caller.permissions.includes(permission))) return
  throw forbidden(`The ${kindOf(caller)} needs the permission ${permissions.join(' or ')}`)
}

const kindOf = ({ clientId }: Caller): string => (clientId.startsWith('console:') ? 'session' : 'API key')
