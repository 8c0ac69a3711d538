import { expect, test } from 'vitest'
import { launchBrowser } from './browser.ts'
import { startTestService } from './service.ts'

test('the reference is read in a browser, without a request to anybody else', async () => {
  const service = await startTestService()
  const browser = await launchBrowser()
  try {
    const page = await browser.newPage()
    const foreign: string[] = []
    const complaints: string[] = []
    page.on('request', (request) => {
      const { protocol, origin } = new URL(request.url())
      if (protocol.startsWith('http') && origin !== service.url) foreign.push(request.url())
    })
    page.on('pageerror', (error) => complaints.push(error.message))
    await page.goto(`${service.url}/docs`)
    await page.getByText('Send a WhatsApp message').first().waitFor({ timeout: 30_000 })
    expect(await page.title()).toContain('Parley')
    expect(foreign).toEqual([])
    expect(complaints).toEqual([])
  } finally {
    await browser.close()
  }
}, 120_000)
