import { execFileSync } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { expect, test } from 'vitest'
import { eventually, uniquePhone } from '../service.ts'
import { startConsoleWorld } from './world/console-world.ts'

const { service, write, createReceiver, openSigned } = await startConsoleWorld()
const { control, db } = service
const SECRET = 'a secret of 16 or more'

/** Makes every attempt of a receiver's deliveries due, until one of them is dead. */
const exhaust = (registrationId: number) =>
  eventually(async () => {
    await db`
      update deliveries set due_at = now()
      where registration_id = ${registrationId} and status = 'pending' and due_at > now()
    `
    const rows = await db`select from deliveries where registration_id = ${registrationId} and status = 'dead'`
    return rows.length > 0
  }, 300_000)

test('the list of receivers shows the state of each', async () => {
  const own = await service.createCompany()
  const name = `state-${own.companyId}`
  await control('PUT', `/receivers/${name}/behaviour`, { statusCode: 500 })
  const failing = await createReceiver('Failing', name, own)
  await write(uniquePhone(), 'Hello', 'Ada', own.phoneNumberId)
  await exhaust(failing.id)
  const paused = await createReceiver('Paused', 'paused', own)
  await own.api('PUT', `/webhooks/registrations/${paused.id}`, { status: 'inactive' })
  await createReceiver('Fresh', 'fresh', own)
  const { page } = await openSigned('/console/receivers', own.key.token)
  await page.getByRole('link', { name: /Failing.*1 dead, last (just now|\d+ min ago)/ }).waitFor()
  await page.getByRole('link', { name: /Paused.*Paused/ }).waitFor()
  await page.getByRole('link', { name: /Fresh.*No delivery yet/ }).waitFor()
})

test('a row shows the customer and the first words, and is found by number, delivery id and message id', async () => {
  const own = await service.createCompany()
  const { id } = await createReceiver('Shop', `shop-${own.companyId}`, own)
  const [ada, grace] = [uniquePhone(), uniquePhone()]
  await write(ada, 'Is my order ready?', 'Ada Lovelace', own.phoneNumberId)
  await write(grace, 'Thank you', 'Grace Hopper', own.phoneNumberId)
  const deliveries = await eventually(async () => {
    const { data } = (await own.api('GET', `/webhooks/registrations/${id}/deliveries`)).body
    return data.length === 2 && data
  })
  const of = (phone: string) =>
    deliveries.find((delivery: { message: { contact: { phone: string } } }) => delivery.message.contact.phone === phone)
  const { page } = await openSigned(`/console/receivers/${id}`, own.key.token)
  const adas = page.locator('[data-delivery]', { hasText: 'Ada Lovelace' })
  const graces = page.locator('[data-delivery]', { hasText: 'Grace Hopper' })
  await adas.getByText('Is my order ready?').waitFor()
  await graces.getByText('Thank you').waitFor()
  const search = page.getByRole('searchbox', { name: 'Number, delivery or message id' })
  for (const [query, found, other] of [
    [`+${ada}`, adas, graces],
    [String(of(grace).id), graces, adas],
    [of(ada).wamid.slice(-12), adas, graces],
  ]) {
    await search.fill(query)
    await other.waitFor({ state: 'detached' })
    await found.waitFor()
  }
  await search.fill('nothing like this')
  await page.getByText('No delivery matches').waitFor()
  await page.getByRole('button', { name: 'Clear filters' }).click()
  await graces.waitFor()
})

test('each attempt shows its own answer and headers, and the payload copies as a signed curl line', async () => {
  const own = await service.createCompany()
  const name = `attempts-${own.companyId}`
  await control('PUT', `/receivers/${name}/behaviour`, { statusCode: 500, body: 'first answer' })
  const { id } = await createReceiver('Shop', name, own)
  await write(uniquePhone(), "It's me", 'Ada', own.phoneNumberId)
  const requests = async () => (await control('GET', `/receivers/${name}/requests`)).body
  await eventually(async () => (await requests()).length === 1)
  await control('PUT', `/receivers/${name}/behaviour`, { statusCode: 500, body: 'later answer' })
  await exhaust(id)
  const [sent] = await requests()
  await db`update delivery_attempts set sent_at = sent_at - interval '1 hour' where registration_id = ${id} and attempt = 1`

  const { page, context } = await openSigned(`/console/receivers/${id}`, own.key.token)
  await context.grantPermissions(['clipboard-read', 'clipboard-write'])
  await page.locator('[data-delivery]').click()
  const attempts = page.getByRole('list', { name: 'Attempts' }).getByRole('button')
  await page.getByRole('button', { name: 'Answer', exact: true }).click()
  await page.getByRole('region', { name: 'answer' }).getByText('later answer').waitFor()
  await attempts.last().click()
  await page.getByRole('region', { name: 'answer' }).getByText('first answer').waitFor()
  await page.getByRole('button', { name: 'Headers', exact: true }).click()
  const headers = page.getByRole('region', { name: 'headers' })
  const firstTime = await headers.getByText('webhook-timestamp').locator('..').innerText()
  await attempts.first().click()
  await eventually(async () => {
    const lines = headers.getByText('webhook-timestamp').locator('..')
    return (await lines.innerText()) !== firstTime
  })

  await page.getByRole('button', { name: 'Payload', exact: true }).click()
  await page.getByRole('button', { name: 'Copy as curl' }).click()
  await page.getByRole('button', { name: 'Copied' }).waitFor()
  const line = String(await page.evaluate('navigator.clipboard.readText()'))
  // The shell reads the line; a function in the place of curl writes the arguments.
  const script = `curl() { printf '%s\\0' "$@"; }\n${line}`
  const [method, url, ...rest] = execFileSync('sh', ['-c', script], { encoding: 'utf8' }).split('\0').slice(1, -1)
  const body = rest.at(-1) ?? ''
  const signature = createHmac('sha256', SECRET).update(body).digest('hex')
  expect([method, url, body]).toEqual(['POST', expect.stringContaining(`/sandbox/receivers/${name}`), sent.body])
  expect(rest).toContain(`X-Service-Signature: ${signature}`)
})
