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

test('an agent erases contacts only if the company or the operator allows it', async () => {
  const own = await createCompany({ isConnected: false })
  const roleOf = async (role: string) => {
    const link = await operator('POST', `/companies/${own.companyId}/sign-in-links`, { name: 'Mara', role })
    return signIn(codeOf(link.body.url))
  }
  const [agent, admin] = [await roleOf('agent'), await roleOf('admin')]
  const newContact = async () =>
    (await own.api('POST', '/contacts', { email: `${crypto.randomUUID()}@example.com` })).body.data[0].id
  const erase = async ({ page }: typeof agent, id: number) =>
    (await page('DELETE', `/public/v1/contacts/${id}?erase=true`)).status
  const id = await newContact()
  expect(agent.session.mayErase).toBe(false)
  expect([await erase(agent, id), await erase(agent, 987654321)]).toEqual([403, 403])
  expect((await own.api('GET', `/contacts/${id}`)).status).toBe(200)
  expect((await agent.page('DELETE', `/public/v1/contacts/${await newContact()}`)).status).toBe(200)
  expect([admin.session.mayErase, await erase(admin, await newContact())]).toEqual([true, 200])
  expect((await own.api('DELETE', `/contacts/${await newContact()}?erase=true`)).status).toBe(200)

  const allowed = await own.api('PATCH', '/me', { settings: { agentsMayErase: true } })
  expect(allowed.body.data.settings.agentsMayErase).toBe(true)
  await expect.poll(async () => (await agent.page('GET', '/session')).body.mayErase).toBe(true)
  expect(await erase(agent, id)).toBe(200)
  await operator('PATCH', `/companies/${own.companyId}`, { agentsMayErase: false })
  await expect.poll(async () => erase(agent, 987654321)).toBe(403)
})

test('an agent lists 1,000 contacts a minute, an admin more', async () => {
  const own = await createCompany({ isConnected: false })
  const contacts = Array.from({ length: 100 }, (_, n) => ({ email: `agent${n}@example.com` }))
  expect((await own.api('POST', '/contacts', contacts)).status).toBe(200)
  const pagesOf = async (role: string) => {
    const link = await operator('POST', `/companies/${own.companyId}/sign-in-links`, { name: 'Mara', role })
    const { page } = await signIn(codeOf(link.body.url))
    const answers = []
    for (let n = 0; n < 11; n += 1) answers.push(await page('GET', '/public/v1/contacts?limit=100'))
    return answers
  }
  const [agent, admin] = [await pagesOf('agent'), await pagesOf('admin')]
  expect(agent.map(({ status }) => status)).toEqual([...Array(10).fill(200), 429])
  expect(Number(agent.at(-1)?.headers['retry-after'])).toBeGreaterThan(0)
  expect(admin.map(({ status }) => status)).toEqual(Array(11).fill(200))
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
