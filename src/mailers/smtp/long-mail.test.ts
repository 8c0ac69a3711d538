import PostalMime from 'postal-mime'
import { expect, test } from 'vitest'
import { encodeLongMail } from './long-mail.ts'

const HTML = '<p>Perché è così — <a href="https://example.com/a">link</a></p>\n'
const TEXT = 'Perché è così\n'

test.each([
  ['HTML', HTML.repeat(30_000), 'x'],
  ['text', HTML, TEXT.repeat(150_000)],
])('a mail of 2 MB of %s is encoded while other work goes on, and arrives as it was', async (_what, html, text) => {
  let turns = 0
  let isRunning = true
  const count = () => {
    turns += 1
    if (isRunning) setImmediate(count)
  }
  count()
  const raw = await encodeLongMail({ from: 'a@example.com', to: 'b@example.com', subject: 'Long', html, text })
  isRunning = false
  expect(turns).toBeGreaterThan(50)
  const mail = await PostalMime.parse(raw)
  expect([mail.html?.trim(), mail.text?.trim(), mail.subject]).toEqual([html.trim(), text.trim(), 'Long'])
})
