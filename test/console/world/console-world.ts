import type { BrowserContextOptions, Page } from 'playwright-core'
import { expect, onTestFinished } from 'vitest'
import { atFileEnd } from '../../file-end.ts'
import { eventually, uniquePhone } from '../../service.ts'
import { sharedBrowser } from './browser.ts'
import { startConsole } from './console-client.ts'
import { buildConsole, openPage } from './console-page.ts'

/** The built console on a service of its own, with a company that has a number, and a browser: for all tests of a file. */
export async function startConsoleWorld() {
  buildConsole()
  const service = await startConsole({ config: { webhookAllowPrivate: true } })
  const browser = await sharedBrowser()
  atFileEnd(() => Promise.all(browser.contexts().map((context) => context.close())))
  const { origin, control } = service
  const company = await service.createCompany()

  /** A text of a customer to a number of the business. */
  const write = (from: string, body: string, name = 'Ada Lovelace', number = company.phoneNumberId) =>
    control('POST', '/inbound', { phoneNumberId: number, from, name, type: 'text', text: { body } })
  const conversationOf = async (phone: string, as = company.api): Promise<number> =>
    eventually(async () => {
      const { body } = await as('GET', '/whatsapp/conversations?pageSize=100')
      return body.data.find(({ contact }: { contact: { phone: string } }) => contact.phone === phone)?.chatId
    })
  /** A conversation with these messages of a customer, all of which have arrived. */
  const conversationWith = async (name: string, messages: readonly object[]) => {
    const { phoneNumberId, api } = company
    const phone = uniquePhone()
    for (const message of messages) await control('POST', '/inbound', { phoneNumberId, from: phone, name, ...message })
    const chatId = await conversationOf(phone)
    const listed = () => api('GET', `/whatsapp/conversations/${chatId}/messages?pageSize=100`)
    await eventually(async () => (await listed()).body.data.length === messages.length)
    return { phone, chatId, path: `/console/inbox/${chatId}` }
  }
  // biome-ignore lint/suspicious/noExplicitAny: what a test reads from an answer is what it asserts
  const sentTo = async (phone: string): Promise<any[]> =>
    (await control('GET', '/messages?limit=1000')).body.filter(({ to }: { to: string }) => to.endsWith(phone))

  /** A receiver of the sandbox, registered with a secret. */
  const createReceiver = async (name: string, path: string, { api } = company): Promise<{ id: number }> => {
    const url = `${service.sandbox.url}/sandbox/receivers/${path}`
    const events = ['whatsapp.message.received']
    return (await api('POST', '/webhooks/registrations', { name, url, events, secret: 'a secret of 16 or more' })).body
  }

  /** A page that is signed in; when the test ends, it must have kept the rules of the console. */
  const openSigned = async (
    path = '/console/inbox',
    token = company.key.token,
    options: BrowserContextOptions = {},
  ) => {
    const opened = await openPage(browser, [origin], options)
    onTestFinished(async () => {
      await opened.context.close()
      expect(opened.faults).toEqual([])
    })
    const { cookie } = await service.signIn(token)
    const [name = '', value = ''] = cookie.split('=')
    await opened.context.addCookies([{ name, value, domain: '127.0.0.1', path: '/', httpOnly: true }])
    await opened.page.goto(`${origin}${path}`)
    await opened.page.getByRole('navigation').waitFor()
    return opened
  }
  return {
    service,
    browser,
    origin,
    company,
    write,
    conversationOf,
    conversationWith,
    sentTo,
    createReceiver,
    openSigned,
  }
}

/** The content of a text message. */
export const textOf = (body: string) => ({ type: 'text', text: { body } })

export const row = (page: Page, name: string) => page.locator('[data-chat]', { hasText: name })
export const bubble = (page: Page, content: string) => page.locator('[data-message]', { hasText: content })
