import { expect, test } from 'vitest'
import { expectAccessible } from '../world/console-page.ts'
import { section, startContactPages } from './contact-world.ts'

const { service, origin, company, openSigned, operator, createCompany, codeOf, api, createContact, open } =
  await startContactPages()

test('activity is read in pages that leave nothing out and repeat nothing', async () => {
  const { id, email } = await createContact()
  for (let at = 0; at < 5; at += 1)
    await api('POST', '/emails', { to: email, subject: `Mail ${at}`, html: '<p>x</p>', from: 'shop@example.org' })
  const whole = (await api('GET', `/contacts/${id}/activity`)).body
  expect(whole.nextBefore).toBeNull()
  const seen: unknown[] = []
  for (let before = ''; ; ) {
    const { body } = await api('GET', `/contacts/${id}/activity?limit=2${before && `&before=${before}`}`)
    expect(body.data.length).toBeLessThanOrEqual(2)
    seen.push(...body.data)
    if (body.nextBefore === null) break
    before = body.nextBefore
  }
  const names = (items: { at: string; email: { subject: string } | null }[]) =>
    items.map((one) => [one.at, one.email?.subject])
  expect(names(seen as never)).toEqual(names(whole.data))
  expect(whole.data).toHaveLength(6)
  expect((await api('GET', `/contacts/${id}/activity?before=x`)).status).toBe(422)
  expect((await api('GET', `/contacts/${id + 1_000_000}/activity`)).status).toBe(404)
  expect((await api('GET', `/contacts/${id + 1_000_000}/consent`)).status).toBe(404)
})

test('a key that may only send emails reads no conversation, and one of WhatsApp no email', async () => {
  const { id, email } = await createContact()
  await api('POST', '/emails', { to: email, subject: 'Mail', html: '<p>x</p>', from: 'shop@example.org' })
  for (const [permission, type] of [
    ['Transactional', 'email'],
    ['WhatsApp', 'conversation'],
  ]) {
    const key = await operator('POST', `/companies/${company.companyId}/api-keys`, {
      name: 'One',
      permissions: [permission],
    })
    const { page } = await service.signIn(key.body.token)
    const { body } = await page('GET', `/public/v1/contacts/${id}/activity`)
    expect(body.data.map((one: { type: string }) => one.type)).toEqual([type])
  }
})

test('a contact without anything says so, one that is missing or of another company is not found, and a failed part leaves the others', async () => {
  const other = await createCompany({ isConnected: false })
  const { body } = await other.api('POST', '/contacts', { email: 'plain@example.com' })
  const id: number = body.data[0].id
  const { page, context } = await open(id, other.key.token)
  await page.getByText('Nothing was said about marketing yet.').waitFor()
  await page.getByText('No conversation and no email yet.').waitFor()
  await page.getByLabel('New tag').waitFor()
  await context.route('**/activity?*', (route) =>
    route.fulfill({ status: 400, json: { error: { code: 'bad', message: 'Broken' } } }),
  )
  await page.reload()
  await section(page, 'Activity').getByText('This part could not be loaded').waitFor()
  await page.getByText('Nothing was said about marketing yet.').waitFor()
  await page.getByRole('button', { name: 'Back' }).click()
  await page.waitForURL(`${origin}/console/contacts`)
  const mine = await open(id)
  await mine.page.getByText('Contact not found').waitFor()
})

test('a developer does not see a contact', async () => {
  const { id } = await createContact()
  const link = await operator('POST', `/companies/${company.companyId}/sign-in-links`, {
    name: 'Dev',
    role: 'developer',
  })
  const { page } = await openSigned(`/console/contacts/${id}`, codeOf(link.body.url))
  await page.getByText('Your session needs the role Agent or Admin.').waitFor()
})

test('on a small window a contact fits its width', async () => {
  const { id } = await createContact('Augusta-Ada-with-a-very-long-name-without-any-blank-that-breaks Lovelace')
  const { page } = await openSigned(`/console/contacts/${id}`, company.key.token, {
    viewport: { width: 390, height: 844 },
  })
  await section(page, 'Activity').getByText('Is it ready?').waitFor()
  await expectAccessible(page)
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390)
})
