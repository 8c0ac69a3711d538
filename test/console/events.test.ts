import { expect, test } from 'vitest'
import { storeDeadLetters } from '../../src/inbound/handling/unhandled/dead-letter-store.ts'
import { ADMIN_TOKEN } from '../api.ts'
import { bodyOf, changeOf, textFrom } from '../provider-webhook.ts'
import { eventually } from '../service.ts'
import { startConsoleWorld } from './world/console-world.ts'

const { service, company, openSigned } = await startConsoleWorld()
const { db } = service

/** Events that failed once and can be processed now. */
const keep = (reasons: readonly string[]) =>
  storeDeadLetters(
    db,
    reasons.map((reason) => ({
      ...{ state: 'failed' as const, reason, phoneNumberId: company.phoneNumberId, wabaAccountId: null, app: null },
      body: Buffer.from(
        JSON.stringify(bodyOf(changeOf(company.phoneNumberId, { messages: [textFrom('393330001111', reason)] }))),
      ),
      receivedAt: new Date(),
      eventId: null,
    })),
  )
const texts = async () =>
  (await db<{ text: string }[]>`select text from messages where company_id = ${company.companyId} order by text`).map(
    ({ text }) => text,
  )

test('an operator retries one failed event, and all that match a reason', async () => {
  await keep(['alpha 1', 'alpha 2', 'beta'])
  const { page } = await openSigned('/console/events', ADMIN_TOKEN)
  await page.getByText('beta').waitFor()
  await page
    .getByRole('button', { name: /^Retry event/ })
    .first()
    .click()
  await page.getByText('beta').waitFor({ state: 'detached' })
  await eventually(async () => (await texts()).join() === 'beta')

  await page.getByLabel('Reason', { exact: true }).fill('ALPHA 1')
  await page.getByText('alpha 2').waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Retry 1 event', exact: true }).click()
  await page.getByText('Retrying 1 event.').waitFor()
  await page.getByText('No events match').waitFor()
  await eventually(async () => (await texts()).join() === 'alpha 1,beta')
  await page.getByRole('button', { name: 'Clear filters' }).click()
  await page.getByText('alpha 2').waitFor()
  expect(new URL(page.url()).search).toBe('')
})
