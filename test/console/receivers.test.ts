import { createHmac } from 'node:crypto'
import { expect, test } from 'vitest'
import { expectAccessible } from './world/console-page.ts'
import { startConsoleWorld } from './world/console-world.ts'

const { service, origin, openSigned } = await startConsoleWorld()
const { control } = service

test('adding a receiver generates a secret, asks for the events, warns when unsigned, and ends with a test and code', async () => {
  const own = await service.createCompany()
  const name = `added-${own.companyId}`
  const { page, context } = await openSigned('/console/receivers', own.key.token)
  await context.grantPermissions(['clipboard-read', 'clipboard-write'])
  await page.getByText('No receiver yet').waitFor()
  await page.getByRole('button', { name: 'Add receiver' }).first().click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Name').fill('Shop')
  await dialog.getByLabel('Address').fill(`${service.sandbox.url}/sandbox/receivers/${name}`)
  const secret = await dialog.getByLabel('Signing secret').inputValue()
  expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
  await dialog.getByLabel('Sign deliveries').uncheck()
  await dialog.getByText('Anyone who knows the address').waitFor()
  await expectAccessible(page)
  await dialog.getByLabel('Sign deliveries').check()
  await dialog.getByLabel(/^Statuses of messages/).check()
  await dialog.getByRole('button', { name: 'Add receiver' }).click()

  await dialog.getByText('It is not shown again').waitFor()
  await dialog.getByRole('button', { name: 'Copy the secret' }).click()
  await dialog.getByRole('button', { name: 'Copied' }).waitFor()
  expect(await page.evaluate('navigator.clipboard.readText()')).toBe(secret)
  for (const language of ['Node.js', 'Python', 'PHP', 'Go']) {
    await dialog.getByRole('button', { name: language }).click()
    await dialog
      .getByText(/X-Service-Signature|HTTP_X_SERVICE_SIGNATURE|x-service-signature/)
      .first()
      .waitFor()
  }
  await expectAccessible(page)
  await dialog.getByRole('button', { name: 'Send a test' }).click()
  await dialog.getByRole('status', { name: 'Answer of the receiver' }).getByText('200').waitFor()
  const [received] = (await control('GET', `/receivers/${name}/requests`)).body
  expect(received.headers['x-service-signature']).toBe(createHmac('sha256', secret).update(received.body).digest('hex'))
  const [stored] = (await own.api('GET', '/webhooks/registrations')).body
  expect(stored.events).toEqual(['whatsapp.message.received', 'whatsapp.message.status'])
  await dialog.getByRole('button', { name: 'Done' }).click()
  await page.waitForURL(`${origin}/console/receivers/${stored.id}`)
  expect(await page.getByText(secret).count()).toBe(0)
})
