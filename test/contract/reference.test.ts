import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { expect, onTestFinished, test } from 'vitest'
import { newProfile, sharedBrowser } from '../console/world/browser.ts'
import { startTestService } from '../service.ts'
import { createTestFolder } from '../temporary-folder.ts'

async function openPage(options?: BrowserContextOptions): Promise<Page> {
  const profile = await newProfile(await sharedBrowser(), options)
  onTestFinished(() => profile.close())
  return profile.newPage()
}

test('the reference is read in a browser, without a request to another host', async () => {
  const service = await startTestService()
  const page = await openPage()
  const foreign: string[] = []
  const complaints: string[] = []
  page.on('request', (request) => {
    const { protocol, origin } = new URL(request.url())
    if (protocol.startsWith('http') && origin !== service.url) foreign.push(request.url())
  })
  page.on('pageerror', (error) => complaints.push(error.message))
  await page.goto(`${service.url}/docs`)
  await page.getByText('Send a WhatsApp message').first().waitFor()
  expect(await page.title()).toContain('Parley')
  expect(foreign).toEqual([])
  expect(complaints).toEqual([])
}, 300_000)

test('the reference leads from the first call to a verified webhook, with the demo key filled in', async () => {
  const dataDir = await createTestFolder()
  await writeFile(join(dataDir, 'demo-token'), 'PARLEY-demo-token\n')
  const service = await startTestService({ config: { dataDir, sandbox: true } })
  const page = await openPage({ viewport: { width: 1440, height: 900 } })
  await page.goto(`${service.url}/docs`)
  await page.getByRole('heading', { name: 'From the first call to a verified webhook' }).waitFor()
  const filledIn = () =>
    page.locator('input').evaluateAll((inputs) => inputs.map((input) => ('value' in input ? input.value : '')))
  await expect.poll(filledIn).toContain('PARLEY-demo-token')
  if (process.env.SHOT) await page.screenshot({ path: process.env.SHOT })
}, 300_000)
