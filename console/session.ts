import { queryOptions } from '@tanstack/react-query'
import { ApiError, errorOf } from './client.ts'

/** The session that is signed in (`GET /console/api/session`). */
export type Session = {
  kind: 'operator' | 'company'
  name: string
  company: { id: number; name: string } | null
  permissions: string[]
  endsAt: string
  features: { sandboxUrl: string | null; sessionWindow: Rule; marketingWindow: Rule }
}
type Rule = 'strict' | 'provider'

const ADDRESS = '/console/api/session'

/** The session; null without one. */
export const sessionQuery = queryOptions({
  queryKey: ['session'],
  queryFn: async (): Promise<Session | null> => {
    const response = await send(ADDRESS)
    if (response.status === 401) return null
    return answerOf<Session>(response)
  },
  staleTime: Number.POSITIVE_INFINITY,
})

/**
 * Exchanges an API key, the operator's token or the code of a link for a session.
 *
 * @throws ApiError 401 for anything that is not valid
 */
export async function signIn(token: string): Promise<Session> {
  return answerOf(await send(ADDRESS, 'POST', { token }))
}

export async function signOut(): Promise<void> {
  await send(ADDRESS, 'DELETE')
}

/** Another session of the company; for an operator of every company. */
export type OtherSession = {
  id: number
  kind: Session['kind']
  name: string
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
