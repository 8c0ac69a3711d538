import { expect, test } from 'vitest'
import { routesOf } from './app-routes.ts'
import { startConsole } from './console-client.ts'

/** The roles that may call each route through the console. */
const EVERYONE = ['agent', 'developer', 'admin']
const AGENT = ['agent', 'admin']
const DEVELOPER = ['developer', 'admin']
const ADMIN = ['admin']
const ALLOWED: Record<string, readonly string[]> = {
  'GET /public/v1/me': EVERYONE,
  'GET /public/v1/events': EVERYONE,
  'GET /public/v1/templates/whatsapp': EVERYONE,
  'GET /public/v1/templates/whatsapp/senders': EVERYONE,
  'GET /public/v1/custom-fields': EVERYONE,
  'POST /public/v1/templates/whatsapp/send': AGENT,
  'GET /public/v1/whatsapp/conversations': AGENT,
  'GET /public/v1/whatsapp/conversations/:chatId': AGENT,
  'PATCH /public/v1/whatsapp/conversations/:chatId': AGENT,
  'POST /public/v1/whatsapp/conversations/:chatId/answering': AGENT,
  'GET /public/v1/whatsapp/conversations/:chatId/messages': AGENT,
  'POST /public/v1/whatsapp/conversations/:chatId/messages': AGENT,
  'GET /public/v1/whatsapp/conversations/:chatId/messages/:id': AGENT,
  'GET /public/v1/whatsapp/usage': ADMIN,
  'GET /public/v1/contacts': AGENT,
  'POST /public/v1/contacts': AGENT,
  'GET /public/v1/contacts/:id': AGENT,
  'PUT /public/v1/contacts/:id': AGENT,
  'DELETE /public/v1/contacts/:id': AGENT,
  'GET /public/v1/contacts/by-email/:email': AGENT,
  'POST /public/v1/contacts/import': AGENT,
  'GET /public/v1/contacts/imports': AGENT,
  'GET /public/v1/contacts/imports/:id': AGENT,
  'DELETE /public/v1/contacts/imports/:id': AGENT,
  'GET /public/v1/contacts/imports/:id/refused': AGENT,
  'GET /public/v1/contacts/export': ADMIN,
  'GET /public/v1/contacts/:id/archive': ADMIN,
  'POST /public/v1/custom-fields': ADMIN,
  'GET /public/v1/webhooks/registrations': DEVELOPER,
  'POST /public/v1/webhooks/registrations': DEVELOPER,
  'GET /public/v1/webhooks/registrations/:id': DEVELOPER,
  'PUT /public/v1/webhooks/registrations/:id': DEVELOPER,
  'DELETE /public/v1/webhooks/registrations/:id': DEVELOPER,
  'GET /public/v1/webhooks/registrations/:id/logs': DEVELOPER,
  'POST /public/v1/webhooks/registrations/:id/logs/:logId/redeliver': DEVELOPER,
  'POST /public/v1/webhooks/registrations/:id/redeliver': DEVELOPER,
  'POST /public/v1/webhooks/registrations/:id/test': DEVELOPER,
  'GET /public/v1/webhooks/registrations/:id/deliveries': DEVELOPER,
  'GET /public/v1/webhooks/registrations/:id/deliveries/:deliveryId': DEVELOPER,
  'GET /public/v1/templates/email': DEVELOPER,
  'POST /public/v1/templates/email/send': ADMIN,
  'POST /public/v1/emails': ADMIN,
  'GET /public/v1/emails/:id/stats': ADMIN,
  'GET /public/v1/transactionals/:id/stats': ADMIN,
  'POST /public/v1/console/sign-in-links': ADMIN,
  'GET /console/api/session': EVERYONE,
  'DELETE /console/api/session': EVERYONE,
  'GET /console/api/keys': DEVELOPER,
  'GET /console/api/sessions': ADMIN,
  'DELETE /console/api/sessions/:id': ADMIN,
}
/** Signing in needs no session; the others take no API key and are not found below the prefix of the console. */
const WITHOUT_SESSION = /^\S+ \/(?!public\/v1\/|admin\/v1\/|console\/api\/)|^POST \/console\/api\/session$/
const NOT_BELOW_PREFIX = /^\S+ \/public\/v1\/(webhooks\/whatsapp|[cou]\/)/

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
