import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { uniquePhone } from '../../service.ts'
import { startConsoleWorld } from '../world/console-world.ts'

const CUSTOM_FIELDS = { TIER: 'gold', POINTS: 1250, IS_MEMBER: true, BORN: '1815-12-10', EXTRA: { a: 1 }, SHOE: '38' }

export const section = (page: Page, name: string) => page.getByRole('region', { name })

/** A console whose company has custom fields of every kind. */
export async function startContactPages() {
  const { service, origin, company, write, conversationOf, openSigned } = await startConsoleWorld()
  const { operator, createCompany, codeOf } = service
  const { api } = company
  for (const field of [
    { key: 'TIER', displayName: 'Tier', type: 'select', allowedValues: ['silver', 'gold'], category: 'Loyalty' },
    { key: 'POINTS', displayName: 'Points', type: 'number', category: 'Loyalty' },
    { key: 'IS_MEMBER', displayName: 'Member', type: 'boolean' },
    { key: 'BORN', displayName: 'Born', type: 'date' },
    { key: 'EXTRA', displayName: 'Extra', type: 'json' },
    { key: 'SECRET', displayName: 'Hidden', type: 'text', visibility: false },
  ]) {
    expect((await api('POST', '/custom-fields', field)).status).toBe(201)
  }
  /** A contact that wrote, with fields of every kind. */
  async function createContact(name = 'Ada Lovelace') {
    const phone = uniquePhone()
    await write(phone, 'Is it ready?', name)
    const chatId = await conversationOf(phone)
    const email = `ada${phone}@example.com`
    const [firstName, lastName] = name.split(' ')
    const body = { phone: `+${phone}`, email, firstName, lastName, tags: ['vip'], customFields: CUSTOM_FIELDS }
    const { body: created } = await api('POST', '/contacts', { ...body, marketingConsent: { email: true } })
    return { id: created.data[0].id as number, phone, email, chatId }
  }
  const open = async (id: number, token = company.key.token) => {
    const { page, context } = await openSigned(`/console/contacts/${id}`, token)
    return { page, context }
  }
  return { service, origin, company, write, openSigned, operator, createCompany, codeOf, api, createContact, open }
}
