import { expect, test } from 'vitest'
import { sampleOf } from '../../sandbox/world/sample-media.ts'
import { eventually, uniquePhone } from '../service.ts'
import { expectAccessible } from './world/console-page.ts'
import { bubble, startConsoleWorld } from './world/console-world.ts'

const { service, company, write, conversationOf, openSigned, sentTo } = await startConsoleWorld()
const { control } = service

/** The form of a template in a conversation with a customer. */
async function openForm(name: string, template: RegExp) {
  const phone = uniquePhone()
  await write(phone, 'Hello', name)
  const chatId = await conversationOf(phone)
  const { page } = await openSigned(`/console/inbox/${chatId}`)
  await bubble(page, 'Hello').waitFor()
  await page.keyboard.press('t')
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('button', { name: template }).click()
  return { page, dialog, phone, chatId }
}

test('a value has its sentence as the label and the example as the placeholder, and the name of the contact is in it', async () => {
  const { page, dialog } = await openForm('Grace Hopper', /order_update en_US/)
  const name = dialog.getByLabel('Hello {{1}}, your order …')
  const order = dialog.getByLabel('Hello …, your order {{2}} has been updated.')
  expect(await name.inputValue()).toBe('Grace Hopper')
  expect([await order.inputValue(), await order.getAttribute('placeholder')]).toEqual(['', 'A-10423'])
  expect(await dialog.locator('label strong').allInnerTexts()).toEqual(['{{1}}', '{{2}}'])
  await dialog.getByText('Hello Grace Hopper, your order {{2}} has been updated.').waitFor()
  await order.fill('A-7')
  await dialog.getByRole('button', { name: 'Send template' }).click()
  await bubble(page, 'Hello Grace Hopper, your order A-7 has been updated.').waitFor()
})

test('a value that is called first_name has the first name', async () => {
  const { dialog } = await openForm('Grace Hopper', /welcome_offer/)
  expect(await dialog.getByLabel('Welcome {{first_name}}!').inputValue()).toBe('Grace')
  expect(await dialog.getByLabel('Use the code {{code}}').getAttribute('placeholder')).toBe('HELLO10')
})

test('the preview shows the picture of the header', async () => {
  const { page, dialog, phone, chatId } = await openForm('Ada Lovelace', /order_ready/)
  // Without an id, the sandbox has a small picture for it.
  await control('POST', '/inbound', { phoneNumberId: company.phoneNumberId, from: phone, type: 'image', image: {} })
  const url = await eventually(async () => {
    const { body } = await company.api('GET', `/whatsapp/conversations/${chatId}/messages`)
    return body.data.find(({ type }: { type: string }) => type === 'image')?.media.url
  })
  const preview = dialog.getByRole('region', { name: 'Preview' })
  await preview.getByText('Image').waitFor()
  const address = dialog.getByLabel('Image above the text: its address (https)')
  await address.fill(url)
  await preview.getByRole('button', { name: 'Open Image' }).waitFor()
  // Rejects for a picture that cannot be drawn.
  await preview.locator('img').evaluate((picture: { decode(): Promise<void> }) => picture.decode())
  await address.fill('https://shop.example/order.png')
  await preview.getByText('File at shop.example').waitFor()
  await expectAccessible(page)
})

test('the file of a header is uploaded, shown in the preview, and sent', async () => {
  const { page, dialog, phone } = await openForm('Ada Lovelace', /order_ready/)
  const [chooser] = await Promise.all([
    page.waitForEvent('filechooser'),
    dialog.getByRole('button', { name: 'Upload: image' }).click(),
  ])
  // The header takes an image.
  await chooser.setFiles({ name: 'offer.pdf', mimeType: 'application/pdf', buffer: sampleOf('application/pdf').bytes })
  await dialog.getByText('The header of this template takes an image.').waitFor()
  await expectAccessible(page)
  const photo = { name: 'order.png', mimeType: 'image/png', buffer: sampleOf('image/png').bytes }
  await dialog.locator('input[type=file]').setInputFiles(photo)
  await dialog.getByRole('button', { name: 'Remove order.png' }).waitFor()
  const preview = dialog.getByRole('region', { name: 'Preview' })
  await preview
    .getByRole('img', { name: 'order.png' })
    .evaluate((picture: { decode(): Promise<void> }) => picture.decode())
  for (const field of await dialog.locator('input:not([type=file])').all()) await field.fill('A-7')
  await dialog.getByRole('button', { name: 'Send template' }).click()
  await eventually(async () => (await sentTo(phone)).length === 1)
  const [{ body }] = await sentTo(phone)
  const header = body.template.components.find(({ type }: { type: string }) => type === 'header')
  expect(header.parameters).toEqual([{ type: 'image', image: { id: expect.stringMatching(/\w/) } }])
})
