import { expect, test } from 'vitest'
import { routesOf } from '../contract/app-routes.ts'
import { ALLOWED, EVERYONE, NOT_BELOW_PREFIX, WITHOUT_SESSION } from './world/console-access.ts'
import { startConsole } from './world/console-client.ts'

const service = await startConsole({ mirrors: true })
const { createCompany, operator, signIn, codeOf, page: pageOf } = service
const company = await createCompany({ isConnected: false })

async function cookieOf(role: string): Promise<string> {
  const link = await operator('POST', `/companies/${company.companyId}/sign-in-links`, { name: 'Mara', role })
  const { cookie, session } = await signIn(codeOf(link.body.url))
  expect(session.role).toBe(role)
  return cookie
}
const cookies = new Map<string, string>()
for (const role of EVERYONE) cookies.set(role, await cookieOf(role))
const routes = routesOf(service.app).filter((route) => !WITHOUT_SESSION.test(route))

test('every route that a session of a company can reach is in the table', () => {
  const reachable = routes.filter((route) => !NOT_BELOW_PREFIX.test(route) && !route.includes('/admin/v1/'))
  expect(reachable).toEqual(Object.keys(ALLOWED).sort())
})

test.each(routes)('%s answers 403 to the roles that may not call it, and to no other', async (route) => {
  const [method = '', path = ''] = route.split(' ')
  const place = path
    .replace('/console/api', '')
    .replace(':email', 'a%40b.example')
    .replaceAll(/:\w+/g, '987654321')
    .replace(/\/events$/, '/events?topics=none')
  const statuses: Record<string, number> = {}
  for (const role of EVERYONE) {
    // Signing out ends the session that it uses.
    const cookie = route === 'DELETE /console/api/session' ? await cookieOf(role) : cookies.get(role)
    const answer = await pageOf(cookie)(method, place, ['GET', 'DELETE'].includes(method) ? undefined : {})
    statuses[role] = answer.status
  }
  const isRefused = (role: string) => statuses[role] === 403
  if (NOT_BELOW_PREFIX.test(route)) expect(statuses).toEqual({ agent: 404, developer: 404, admin: 404 })
  else expect(EVERYONE.filter((role) => !isRefused(role))).toEqual(ALLOWED[route] ?? [])
  expect(Object.values(statuses).filter((status) => status >= 500)).toEqual([])
})

test('the live stream has the topics of the role alone', async () => {
  const statuses: Record<string, number[]> = {}
  for (const role of EVERYONE) {
    statuses[role] = []
    for (const topic of ['conversation', 'message', 'answering', 'import', 'contact', 'delivery']) {
      // The answer to HEAD ends; the stream stays open.
      const answer = await pageOf(cookies.get(role))('HEAD', `/public/v1/events?topics=${topic}`, undefined, {
        origin: service.origin,
      })
      statuses[role].push(answer.status)
    }
  }
  const [yes, no] = [200, 403]
  expect(statuses).toEqual({
    agent: [yes, yes, yes, yes, yes, no],
    developer: [no, no, no, no, no, yes],
    admin: [yes, yes, yes, yes, yes, yes],
  })
})
