import { expect, test } from 'vitest'
import { createToken, newSecret, parseToken } from './tracking-token.ts'

const email = { companyId: 7, id: 123_456_789, secret: newSecret() }

test('a token names its mail, use and link', () => {
  const token = createToken(email, 'click', 3)
  expect(token).toMatch(/^[A-Za-z0-9_-]{44}$/)
  expect(parseToken(token, 'click')).toMatchObject({ companyId: 7, emailId: 123_456_789, link: 3 })
})

test('is none for another use', () => {
  expect(parseToken(createToken(email, 'click', 3), 'open')).toBeUndefined()
  expect(parseToken(createToken(email, 'open', 0), 'click')).toBeUndefined()
  expect(createToken(email, 'open', 0)).not.toBe(createToken(email, 'unsubscribe', 0))
})

test('differs from mail to mail and link to link', () => {
  const tokens = [1, 2, 3].map((link) => createToken(email, 'click', link).slice(-24))
  expect(new Set([...tokens, createToken({ ...email, secret: newSecret() }, 'click', 1).slice(-24)]).size).toBe(4)
})

test.each([
  '',
  'x',
  '..',
  `${'A'.repeat(43)}=`,
  'A'.repeat(45),
  `${'A'.repeat(43)}/`,
  '💥'.repeat(22),
])('%s is none', (text) => {
  expect(parseToken(text, 'open')).toBeUndefined()
})
