import { expect, test } from 'vitest'
import { eventually } from '../../service.ts'
import { section, startContactPages } from './contact-world.ts'

const { origin, write, api, createContact, open } = await startContactPages()

test('a contact shows its fields by their kinds, its tags, and those without a definition', async () => {
  const { id, email } = await createContact()
  const { page } = await open(id)
  const details = section(page, 'Details')
  for (const shown of [email, 'Ada', 'Lovelace', 'vip', 'gold', '1,250', 'Yes', '10 Dec 1815', 'SHOE', '38', 'Loyalty'])
    await details.getByText(shown, { exact: true }).waitFor()
  await details.getByText('"a": 1').waitFor()
  expect(await details.getByText('Hidden').count()).toBe(0)
})

test('the history of consent names sources and keys, and the activity has conversations and emails in one line of time', async () => {
  const { id, phone, email, chatId } = await createContact()
  await api('PUT', `/contacts/${id}`, { marketingConsent: { email: false } })
  for (const subject of ['First', 'Second']) {
    expect(
      (await api('POST', '/emails', { to: email, subject, html: '<p>x</p>', from: 'shop@example.org' })).status,
    ).toBe(201)
  }
  const { page } = await open(id)
  const history = section(page, 'Marketing consent').getByRole('listitem')
  await expect.poll(() => history.allInnerTexts()).toHaveLength(2)
  const [last, first] = await history.allInnerTexts()
  expect(last).toMatch(/^Email: no[\s\S]*through the API, by Shop key$/)
  expect(first).toMatch(/^Email: yes[\s\S]*through the API, by Shop key$/)
  const items = section(page, 'Activity').getByRole('listitem')
  await expect.poll(async () => (await items.allInnerTexts()).map((one) => one.split('\n')[0])).toHaveLength(3)
  const words = (await items.allInnerTexts()).join('\n')
  expect(words.indexOf('Second')).toBeLessThan(words.indexOf('First'))
  expect(words).toContain('Is it ready?')
  // Changes while the page is open.
  await write(phone, 'Still waiting', 'Ada Lovelace')
  await eventually(async () => {
    const { body } = await api('GET', `/contacts/${id}/activity`)
    return body.data[0].conversation?.lastMessage.text === 'Still waiting' || undefined
  })
  await page.reload()
  await items.first().getByText('Still waiting').waitFor()
  await items.first().getByRole('link').click()
  await page.waitForURL(`${origin}/console/inbox/${chatId}`)
})
