import { forbidden } from '../../platform/errors.ts'

/**
 * The roles of console sessions: an agent works with conversations and contacts, a developer with receivers, their logs,
 * templates and the names of keys; an admin does both, exports, and manages sessions.
 */
export const ROLES = ['agent', 'developer', 'admin'] as const
export type SessionRole = (typeof ROLES)[number]

/**
 * Passes when the role is one of those of a route; an admin always passes.
 * @throws {AppError} 403 `forbidden` that names the roles
 */
export function checkRole(role: SessionRole, roles: readonly SessionRole[] = []): void {
  if (role === 'admin' || roles.includes(role)) return
  throw forbidden(
    `The session needs the role ${ROLES.filter((one) => one === 'admin' || roles.includes(one)).join(' or ')}`,
  )
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The roles, in addition to admins, whose sessions of the console may call the route. Absent: admins alone. */
    roles?: readonly SessionRole[]
  }
}
