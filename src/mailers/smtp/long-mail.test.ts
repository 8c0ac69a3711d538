import PostalMime from 'postal-mime'
import { expect, test } from 'vitest'
import { encodeLongMail } from './long-mail.ts'

test('a mail of 2 MB is encoded while other work goes on, and arrives as it was', async () => {
  const html = '<p>Perché è così — <a href="https://example.com/a">link</a></p>\n'.repeat(30_000)
  let turns = 0
  let isRunning = true
  const count = () => {
    turns += 1
    if (isRunning) setImmediate(count)
  }
  count()
  const raw = await encodeLongMail({ from: 'a@example.com', to: 'b@example.com', subject: 'Long', html, text: 'x' })
  isRunning = false
  expect(turns).toBeGreaterThan(50)
  const mail = await PostalMime.parse(raw)
  expect([mail.html?.trim(), mail.text?.trim(), mail.subject]).toEqual([html.trim(), 'x', 'Long'])
})
