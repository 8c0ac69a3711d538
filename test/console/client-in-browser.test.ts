import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createServer } from 'node:http'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import { newProfile, sharedBrowser } from './world/browser.ts'
import { startConsole } from './world/console-client.ts'

const browser = await sharedBrowser()
const service = await startConsole()
const { origin, createCompany, operator, db, codeOf, page: asPage } = service
const company = await createCompany({ isConnected: false })
const foreign = createServer((_, response) => response.setHeader('content-type', 'text/html').end('<p>Foreign</p>'))
foreign.listen(0, '127.0.0.1')
await once(foreign, 'listening')
const address = foreign.address()
/** Another port of the same host: the same site, and another origin. */
const foreignOrigin = `http://127.0.0.1:${address !== null && typeof address === 'object' ? address.port : 0}`
afterAll(() => void foreign.close())

const createLink = async () =>
  (await operator('POST', `/companies/${company.companyId}/sign-in-links`, { name: 'Mara' })).body.url as string

/** A script that posts JSON and results in the status. */
const postScript = (path: string, body: object): string =>
  `fetch('${path}', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: ${JSON.stringify(JSON.stringify(body))},
  }).then(({ status }) => status)`

async function openProfile() {
  const profile = await newProfile(browser)
  onTestFinished(() => profile.close())
  return profile
}

/** A browser that is signed in, on a page of the service that runs no script of its own. */
async function signedIn() {
  const context = await openProfile()
  const page = await context.newPage()
  await page.goto(`${origin}/console/icon.svg`)
  const token = codeOf(await createLink())
  expect(await page.evaluate(postScript('/console/api/session', { token }))).toBe(200)
  return { context, page }
}
const contacts = () => db`select email from contacts where company_id = ${company.companyId}`
const BODY = { email: 'browser@example.com' }

test('the cookie of a sign-in is HttpOnly and Lax, and counts in the console only', async () => {
  const { context, page } = await signedIn()
  expect(await context.cookies()).toMatchObject([
    { name: 'parley', httpOnly: true, sameSite: 'Lax', path: '/', secure: false },
  ])
  const seen = await page.evaluate(`(async () => ({
    cookie: document.cookie,
    storage: localStorage.length + sessionStorage.length,
    me: (await fetch('/public/v1/me')).status,
    session: (await fetch('/console/api/session')).status,
  }))()`)
  expect(seen).toEqual({ cookie: '', storage: 0, me: 401, session: 200 })
})

test('a page of another origin changes nothing with the session of its visitor, and the console’s own page does', async () => {
  const { context, page } = await signedIn()
  const other = await context.newPage()
  await other.goto(foreignOrigin)
  const target = `${origin}/console/api/public/v1/contacts`
  await other.evaluate(`(async () => {
    const [target, text] = ${JSON.stringify([target, JSON.stringify(BODY)])}
    const ask = (init) => fetch(target, { credentials: 'include', method: 'POST', body: text, ...init }).catch(() => {})
    await ask({ mode: 'no-cors' })
    await ask({ headers: { 'content-type': 'application/json' } })
    navigator.sendBeacon(target, text)
    await new Promise((resolve) => Object.assign(new Image(), { onerror: resolve, src: target }))
    const form = Object.assign(document.createElement('form'), { method: 'post', action: target, enctype: 'text/plain' })
    form.append(Object.assign(document.createElement('input'), { name: text.slice(0, -1) + ',"x":"', value: '"}' }))
    document.body.append(form)
    form.submit()
  })()`)
  await other.waitForURL(target)
  expect(await other.evaluate('document.body.innerText')).toContain('Only pages of the console may use its API')
  expect(await contacts()).toEqual([])

  expect(await page.evaluate(postScript('/console/api/public/v1/contacts', BODY))).toBe(200)
  expect(await contacts()).toEqual([BODY])
})

test.skipIf(!existsSync(new URL('../../console/dist/index.html', import.meta.url)))(
  'a link signs in once, its code stays in no address and no request, and the page breaks no rule of its policy',
  async () => {
    const context = await openProfile()
    const page = await context.newPage()
    const asked: string[] = []
    page.on('request', (request) => asked.push(`${request.url()} ${request.headers().referer ?? ''}`))
    const complaints: string[] = []
    page.on(
      'console',
      (message) => message.text().includes('Content Security Policy') && complaints.push(message.text()),
    )
    const link = await createLink()
    await page.goto(link)
    await page.getByRole('navigation').waitFor()
    expect(page.url()).not.toContain(codeOf(link))
    expect(asked.filter((line) => line.includes(codeOf(link)))).toEqual([])
    expect(asked.filter((line) => !line.startsWith(origin))).toEqual([])
    expect(complaints).toEqual([])
    expect((await asPage()('POST', '/session', { token: codeOf(link) })).status).toBe(401)

    // Control: the policy is in force.
    await page.evaluate("document.head.append(Object.assign(document.createElement('style'), { textContent: 'p {}' }))")
    expect(complaints).toHaveLength(1)
  },
)
