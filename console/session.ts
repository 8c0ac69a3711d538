import { queryOptions } from '@tanstack/react-query'
import { ApiError, errorOf, noteSignedOut } from './client.ts'

/** The work of a session: an agent works in the inbox, a developer with receivers, an admin does both and manages sessions. */
export const ROLES = ['agent', 'developer', 'admin'] as const
export type Role = (typeof ROLES)[number]

/** The session that is signed in (`GET /console/api/session`). */
export type Session = {
  kind: 'operator' | 'company'
  name: string
  company: { id: number; name: string } | null
  permissions: string[]
  role: Role
  /** Whether the session may erase contacts. */
  mayErase: boolean
  endsAt: string
  features: {
    sandboxUrl: string | null
    sessionWindow: Rule
    marketingWindow: Rule
    /** Part of the names of the headers that receivers get. */
    serviceName: string
  }
}
type Rule = 'strict' | 'provider'

const ADDRESS = '/console/api/session'

/** The session; null without one. */
export const sessionQuery = queryOptions({
  queryKey: ['session'],
  queryFn: async (): Promise<Session | null> => {
    const response = await send(ADDRESS)
    if (response.status === 401) {
      noteSignedOut(await bodyOf(response))
      return null
    }
    return answerOf<Session>(response)
  },
  staleTime: Number.POSITIVE_INFINITY,
})

type SignedIn = { name: string; company: { id: number; name: string } | null }
/** The session of the browser, and the one of a link that would replace it. */
export type Replacement = { current: SignedIn; offered: SignedIn }

/**
 * Exchanges an API key, the operator's token or the code of a link for a session. A link does not replace the session of a
 * signed-in browser unless `mayReplace` is true: the result names both.
 *
 * @throws ApiError 401 for anything that is not valid
 */
export async function signIn(token: string, mayReplace = false): Promise<Session | Replacement> {
  const response = await send(ADDRESS, 'POST', { token, ...(mayReplace && { replace: true }) })
  if (response.status === 409) return (await response.json()).error.details
  const session = await answerOf<Session>(response)
  if (mayReplace) new BroadcastChannel(REPLACED).postMessage(null)
  return session
}

const REPLACED = 'parley.session.replaced'

/** Calls `act` when another tab has replaced the session: this one shows data of the former session's company. */
export function whenReplaced(act: () => void): void {
  new BroadcastChannel(REPLACED).onmessage = act
}

export async function signOut(): Promise<void> {
  await send(ADDRESS, 'DELETE')
}

/** Another session of the company; for an operator of every company. */
export type OtherSession = {
  id: number
  kind: Session['kind']
  name: string
  role: Role
  createdAt: string
  seenAt: string
  agent: string | null
  isCurrent: boolean
}

export const sessionsQuery = queryOptions({
  queryKey: ['sessions'],
  queryFn: async (): Promise<{ data: OtherSession[] }> => answerOf(await send('/console/api/sessions')),
})

export async function endSession(id: number): Promise<void> {
  const response = await send(`/console/api/sessions/${id}`, 'DELETE')
  if (!response.ok) throw errorOf(await bodyOf(response), response)
}

/** The API keys of the company of the session, without their credentials. */
export type KeyEntry = { name: string; permissions: string[]; expiresAt: string | null }

export const keysQuery = queryOptions({
  queryKey: ['keys'],
  queryFn: async (): Promise<{ data: KeyEntry[] }> => answerOf(await send('/console/api/keys')),
})

async function send(address: string, method = 'GET', body?: object): Promise<Response> {
  const json = body && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
  try {
    return await fetch(address, { method, ...json })
  } catch {
    throw new ApiError('', { code: 'offline' })
  }
}

async function answerOf<Body>(response: Response): Promise<Body> {
  if (!response.ok) throw errorOf(await bodyOf(response), response)
  return response.json()
}

const bodyOf = (response: Response): Promise<unknown> => response.json().catch(() => null)
