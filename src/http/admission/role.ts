import { forbidden } from '../../platform/errors.ts'

export const ROLES = ['agent', 'developer', 'admin'] as const
export type SessionRole = (typeof ROLES)[number]

/** Admins always pass. @throws {AppError} 403 `forbidden` with the accepted roles */
export function checkRole(role: SessionRole, roles: readonly SessionRole[] = []): void {
  if (role === 'admin' || roles.includes(role)) return
  throw forbidden(
    `The session needs the role ${ROLES.filter((one) => one === 'admin' || roles.includes(one)).join(' or ')}`,
  )
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Roles allowed besides admin. Absent: admin only. */
    roles?: readonly SessionRole[]
  }
}
