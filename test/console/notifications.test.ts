import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { eventually, uniquePhone } from '../service.ts'
import { expectAccessible } from './world/console-page.ts'
import { row, startConsoleWorld } from './world/console-world.ts'

const { service, write, conversationOf, openSigned } = await startConsoleWorld()

/**
 * A browser without a window allows no notifications: this takes the place of its class, asks for the permission and keeps
 * what is shown. The page counts its sounds.
 */
const KEEP = `
  window.notified = []
  window.tones = 0
  let permission = 'default'
  window.Notification = class {
    constructor(title, { body }) {
      window.notified.push(title + ': ' + body)
      window.lastNotification = this
    }
    static get permission() { return permission }
    static async requestPermission() { return (permission = 'granted') }
    close() {}
  }
  const { createOscillator } = AudioContext.prototype
  AudioContext.prototype.createOscillator = function () {
    window.tones += 1
    return createOscillator.call(this)
  }`
const notifiedOn = (page: Page): Promise<string[]> => page.evaluate('window.notified')

test('notifications, once turned on, announce new messages of mine and unassigned ones', async () => {
  const own = await service.createCompany()
  const say = (phone: string, body: string, name: string) => write(phone, body, name, own.phoneNumberId)
  const [ada, grace, eve] = [uniquePhone(), uniquePhone(), uniquePhone()]
  await say(ada, 'first', 'Ada')
  await say(grace, 'first', 'Grace')
  await say(eve, 'first', 'Eve')
  const eves = await conversationOf(eve, own.api)
  await own.api('PATCH', `/whatsapp/conversations/${eves}`, { assignee: 'Someone else' })
  const { page } = await openSigned('/console/inbox', own.key.token)
  await page.addInitScript(KEEP)
  // The minute is that of the page: it passes when the test says so.
  const start = Date.now()
  await page.clock.setFixedTime(start)
  await page.reload()
  await row(page, 'Ada').waitFor()
  await page.getByText('Live', { exact: true }).waitFor()

  await say(ada, 'while they are off', 'Ada')
  await row(page, 'Ada').getByText('while they are off').waitFor()
  await page.getByTitle('Your session').click()
  const item = page.getByRole('menuitemcheckbox', { name: 'Notify me of new messages' })
  await item.click()
  await expectAccessible(page)
  await page.keyboard.press('Escape')

  await say(ada, 'one', 'Ada')
  await eventually(async () => (await notifiedOn(page)).length === 1)
  // Within the minute, to another agent, and then one that is notified of: events come in their order.
  await say(ada, 'two', 'Ada')
  await row(page, 'Ada').getByText('two').waitFor()
  await say(eve, 'not for me', 'Eve')
  await row(page, 'Eve').getByText('not for me').waitFor()
  await say(grace, 'three', 'Grace')
  await eventually(async () => (await notifiedOn(page)).length > 1)
  expect(await notifiedOn(page)).toEqual(['Ada: one', 'Grace: three'])
  expect(await page.evaluate('window.tones')).toBe(2)

  await page.clock.setFixedTime(start + 61_000)
  await say(ada, 'four', 'Ada')
  await eventually(async () => (await notifiedOn(page)).length === 3)
  await page.evaluate('window.lastNotification.onclick()')
  await page.locator('[data-message]', { hasText: 'four' }).waitFor()

  // The conversation in view is not notified of, in any tab.
  await page.clock.setFixedTime(start + 122_000)
  await say(ada, 'five', 'Ada')
  await page.locator('[data-message]', { hasText: 'five' }).waitFor()
  await say(grace, 'six', 'Grace')
  await eventually(async () => (await notifiedOn(page)).length > 3)
  expect((await notifiedOn(page)).slice(2)).toEqual(['Ada: four', 'Grace: six'])
})
