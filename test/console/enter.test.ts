import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { eventually } from '../service.ts'
import { bubble, startConsoleWorld, textOf } from './world/console-world.ts'

const { company, conversationWith, openSigned, sentTo } = await startConsoleWorld()

async function fieldOf(page: Page) {
  const field = page.getByLabel(/Message to/)
  await field.click()
  return field
}

test('Enter sends, and Shift Enter breaks the line, unless the user chooses otherwise', async () => {
  const { path, phone } = await conversationWith('Enter', [textOf('Hello')])
  const { page } = await openSigned(path)
  const field = await fieldOf(page)
  await page.keyboard.type('one')
  await page.keyboard.press('Shift+Enter')
  await page.keyboard.type('two')
  expect(await field.inputValue()).toBe('one\ntwo')
  await page.keyboard.press('Enter')
  await bubble(page, 'two').waitFor()
  await eventually(async () => (await field.inputValue()) === '')

  await page.getByTitle('Your session').click()
  await page.getByRole('menuitemradio', { name: 'Enter breaks the line' }).waitFor()
  await page.getByRole('menuitemradio', { name: 'Enter breaks the line' }).click()
  await page.reload()
  const again = await fieldOf(page)
  await page.keyboard.type('three')
  await page.keyboard.press('Enter')
  await page.keyboard.type('four')
  expect(await again.inputValue()).toBe('three\nfour')
  await page.keyboard.press('Control+Enter')
  await bubble(page, 'four').waitFor()
  await eventually(async () => (await sentTo(phone)).length === 2)
})

test('on touch, Enter breaks the line', async () => {
  const { path } = await conversationWith('Touch', [textOf('Hello')])
  const touch = { hasTouch: true, isMobile: true, viewport: { width: 390, height: 844 } }
  const { page } = await openSigned(path, company.key.token, touch)
  const field = await fieldOf(page)
  await page.keyboard.type('one')
  await page.keyboard.press('Enter')
  await page.keyboard.type('two')
  expect(await field.inputValue()).toBe('one\ntwo')
})

test('Enter that ends the input of a character sends nothing', async () => {
  const { path } = await conversationWith('Composing', [textOf('Hello')])
  const { page } = await openSigned(path)
  const field = await fieldOf(page)
  await field.fill('日本')
  await field.evaluate(`(one) => one.dispatchEvent(
    new KeyboardEvent('keydown', { key: 'Enter', isComposing: true, bubbles: true, cancelable: true }))`)
  expect(await field.inputValue()).toBe('日本')
})
