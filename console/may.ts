import { actingFor } from './scope.ts'
import type { Role, Session } from './session.ts'

/**
 * What the parts of the console need: one of the permissions, and a role. The service refuses the same
 * (`test/console/world/console-access.ts`), and `test/console/controls.test.ts` compares what each role sees.
 */
const NEEDS = {
  conversations: { anyOf: ['WhatsApp'], role: 'agent' },
  contacts: { anyOf: ['WhatsApp', 'Transactional'], role: 'agent' },
  customFields: { anyOf: ['WhatsApp', 'Transactional'], role: 'admin' },
  quickReplies: { anyOf: ['WhatsApp'], role: 'developer' },
  receivers: { anyOf: ['WhatsApp'], role: 'developer' },
  apiKeys: { anyOf: [], role: 'developer' },
  signInLinks: { anyOf: [], role: 'admin' },
  sessions: { anyOf: [], role: 'admin' },
} as const satisfies Record<string, { anyOf: readonly string[]; role: Role }>

export type Part = keyof typeof NEEDS | 'companies' | 'events'
/** What a session lacks: to be the operator's, a company to act for, one of these permissions, or a role. */
export type Lack = { operator: true } | { company: true } | { permissions: readonly string[] } | { role: Role }

/** Whether the page shows the data of a company: the user's own, or the one that an operator acts for. */
export const hasCompany = ({ kind }: Session): boolean => kind === 'company' || actingFor !== undefined

/** Whether the console shows a part to the session. */
export const may = (session: Session, part: Part): boolean => lackOf(session, part) === undefined

/** What keeps a session from a part; undefined: nothing does. */
export function lackOf(session: Session, part: Part): Lack | undefined {
  if (session.kind === 'operator') {
    // Acting for a company, an operator has every role and permission. The names of keys belong to the company's sessions.
    const isOwn = part === 'companies' || part === 'events' || part === 'sessions'
    return isOwn || (actingFor !== undefined && part !== 'apiKeys') ? undefined : { company: true }
  }
  if (part === 'companies' || part === 'events') return { operator: true }
  const { anyOf, role } = NEEDS[part]
  const isPermitted = anyOf.length === 0 || anyOf.some((one) => session.permissions.includes(one))
  if (!isPermitted) return { permissions: anyOf }
  return session.role === 'admin' || session.role === role ? undefined : { role }
}
