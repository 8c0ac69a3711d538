import type { Db } from '../db/connect.ts'
import type { Permission } from '../http/admission/caller.ts'
import type { SessionRole } from '../http/admission/role.ts'
import { type FieldFault, rateLimitExceeded, validationError } from '../platform/errors.ts'
import { newApiSecret } from '../platform/ids.ts'
import { digestOf, SESSION_PERMISSIONS } from './session.ts'
import { insertLink } from './session-store.ts'

type NewSignInLink = {
  name: string
  permissions?: readonly string[]
  role?: SessionRole
  expiresInSeconds?: number
  path?: string
}
export type SignInLink = { readonly url: string; readonly expiresAt: Date }

/** Null company: operator. The session ends with the creator's credential. */
type LinkCreator = { companyId: number | null; clientId: string; permissions: readonly Permission[] }

const MOST_LINKS = 1_000
export const DEFAULT_LINK_SECONDS = 600
export const MOST_LINK_SECONDS = 24 * 60 * 60
const RETRY_AFTER_SECONDS = 60

/**
 * Creates a single-use link; browsers never send the fragment, and so the code, to a server.
 * @throws {AppError} 422 for a permission beyond the creator's; 429 at 1,000 unused links
 */
export async function createSignInLink(
  db: Db,
  baseUrl: string,
  { companyId, clientId, permissions: own }: LinkCreator,
  {
    name,
    permissions: asked,
    role = 'agent',
    expiresInSeconds = DEFAULT_LINK_SECONDS,
    path = '/console/',
  }: NewSignInLink,
): Promise<SignInLink> {
  const faults = linkFaults({ name, path })
  if (faults.length > 0) throw validationError(faults)
  const permissions = choosePermissions(own, asked)
  const code = newApiSecret()
  const grant = { digest: digestOf(code), companyId, clientId, name: name.trim(), permissions, role }
  const link = await insertLink(db, grant, { expiresInSeconds, most: MOST_LINKS })
  if (link === undefined) throw rateLimitExceeded(RETRY_AFTER_SECONDS, 'Too many sign-in links are not used yet')
  return { url: `${baseUrl}${path}#code=${code}`, expiresAt: link.expiresAt }
}

/** Returns the faults beyond the schema: a blank name, a path outside the console. */
export const linkFaults = ({ name, path }: Partial<NewSignInLink>): FieldFault[] => [
  ...(name?.trim() === '' ? [{ path: 'name', message: 'must not be blank' }] : []),
  ...(path === undefined || staysInConsole(path) ? [] : [{ path: 'path', message: 'must stay below /console/' }]),
]

/** Resolves the path like a browser: `..`, `%2e%2e` and `\` can leave the folder. */
const staysInConsole = (path: string): boolean =>
  URL.parse(path, 'http://localhost')?.pathname.startsWith('/console/') ?? false

function choosePermissions(own: readonly Permission[], asked: readonly string[] | undefined): Permission[] {
  const allowed = SESSION_PERMISSIONS.filter((one) => own.includes(one))
  if (asked === undefined) return allowed
  const requested = asked.map((name) => allowed.find((one) => one.toLowerCase() === name.toLowerCase()))
  const message = `must be one of ${allowed.join(', ')}`
  const faults = requested.flatMap((one, index) =>
    one === undefined ? [{ path: `permissions[${index}]`, message }] : [],
  )
  if (faults.length > 0) throw validationError(faults)
  return allowed.filter((one) => requested.includes(one))
}
