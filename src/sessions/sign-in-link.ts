import type { Db } from '../db/connect.ts'
import type { Permission } from '../http/admission/caller.ts'
import type { SessionRole } from '../http/admission/role.ts'
import { type FieldFault, rateLimitExceeded, validationError } from '../platform/errors.ts'
import { newApiSecret } from '../platform/ids.ts'
import { digestOf, SESSION_PERMISSIONS } from './session.ts'
import { insertLink } from './session-store.ts'

export type NewSignInLink = {
  name: string
  /** In any letter case; by default all that the creator may give. */
  permissions?: readonly string[]
  /** By default `agent`. */
  role?: SessionRole
  expiresInSeconds?: number
  /** Where the console opens. */
  path?: string
}
export type SignInLink = { readonly url: string; readonly expiresAt: Date }

/** The company whose console the link opens (null: the operator's), and the credential that its session ends with. */
export type LinkCreator = { companyId: number | null; clientId: string; permissions: readonly Permission[] }

/** Links of a company that are not used and have not expired. */
export const MOST_LINKS = 1_000
export const DEFAULT_LINK_SECONDS = 600
export const MOST_LINK_SECONDS = 24 * 60 * 60
const RETRY_AFTER_SECONDS = 60

/**
 * Creates a link that signs in once. Its code stands in the fragment of the address, which browsers send to no server.
 * @throws {AppError} 422 when a permission is not the creator's; 429 when the company has 1,000 unused links
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

/** The faults of a new link that its shape cannot find: a blank name, and a path that leads out of the console. */
export const linkFaults = ({ name, path }: Partial<NewSignInLink>): FieldFault[] => [
  ...(name?.trim() === '' ? [{ path: 'name', message: 'must not be blank' }] : []),
  ...(path === undefined || staysInConsole(path) ? [] : [{ path: 'path', message: 'must stay below /console/' }]),
]

/** Read as a browser reads it: `..`, `%2e%2e` and `\` change the folder. */
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
