import { expect, test } from 'vitest'
import { expectAccessible } from '../world/console-page.ts'
import { bubble, startConsoleWorld, textOf } from '../world/console-world.ts'

const { conversationWith, openSigned } = await startConsoleWorld()

test('addresses are links that reveal to no one where they were read, and marks are shown as WhatsApp shows them', async () => {
  const { path } = await conversationWith('Formatted', [
    textOf('Here: https://shop.example.com/a_b_c?x=1. *Bold _both_*, ~gone~ and `code`'),
    textOf('```\n*as it is*\n```\n2*3*4 <b>no tag</b> <script>alert(1)</script>'),
  ])
  const { page, context, faults } = await openSigned(path)
  await bubble(page, 'no tag').waitFor()
  const first = bubble(page, 'Here:')
  expect(await first.locator('strong').innerText()).toBe('Bold both')
  expect(await first.locator('strong em').innerText()).toBe('both')
  expect(await first.locator('s').innerText()).toBe('gone')
  expect(await first.locator('code').innerText()).toBe('code')
  const second = bubble(page, 'no tag')
  expect(await second.locator('pre').innerText()).toBe('*as it is*')
  expect(await second.innerText()).toContain('2*3*4 <b>no tag</b> <script>alert(1)</script>')
  expect(await second.locator('b, script, strong').count()).toBe(0)

  const link = first.getByRole('link')
  expect(await link.innerText()).toBe('https://shop.example.com/a_b_c?x=1')
  const headers: Record<string, string>[] = []
  await context.route('https://shop.example.com/**', (route) => {
    headers.push(route.request().headers())
    return route.fulfill({ body: 'The shop' })
  })
  const [opened] = await Promise.all([context.waitForEvent('page'), link.click()])
  await opened.getByText('The shop').waitFor()
  expect(await opened.evaluate('window.opener')).toBe(null)
  expect(headers).toEqual([expect.not.objectContaining({ referer: expect.anything() })])
  expect(faults.splice(0)).toEqual(['foreign request: https://shop.example.com/a_b_c?x=1'])
  await expectAccessible(page)
})

test('an answer is shown with its marks while it is sent, and after that', async () => {
  const { path } = await conversationWith('Answered', [textOf('Hello')])
  const { page } = await openSigned(path)
  await page.getByLabel(/Message to/).fill('Yes, *today*')
  let finish = () => {}
  const isHeld = new Promise<void>((resolve) => {
    finish = resolve
  })
  await page.route('**/conversations/*/messages', async (route) => {
    if (route.request().method() === 'POST') await isHeld
    return route.continue()
  })
  await page.getByRole('button', { name: 'Send', exact: true }).click()
  await page.locator('[data-outgoing] strong', { hasText: 'today' }).waitFor()
  finish()
  await page.locator('[data-message] strong', { hasText: 'today' }).waitFor()
})
