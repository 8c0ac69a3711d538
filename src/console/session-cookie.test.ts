import { expect, test } from 'vitest'
import { createSessionCookie } from './session-cookie.ts'

const SECRET = 'a'.repeat(43)

test('under https the cookie is Secure, and its name says so', () => {
  const cookie = createSessionCookie('https://parley.example')
  const attributes = 'Secure; HttpOnly; SameSite=Strict; Path=/console'
  expect(cookie.give(SECRET, 60)).toBe(`__Secure-parley=${SECRET}; Max-Age=60; ${attributes}`)
  expect(cookie.take()).toBe(`__Secure-parley=; Max-Age=0; ${attributes}`)
  expect(cookie.read(`parley=${'b'.repeat(43)}; __Secure-parley=${SECRET}`)).toBe(SECRET)
  expect(cookie.read(`parley=${SECRET}`)).toBeUndefined()
})

test.each([
  [`parley=${SECRET}`, SECRET],
  [`other=1; parley=${SECRET};x=y`, SECRET],
  [`xparley=${SECRET}`, undefined],
  [`__Secure-parley=${SECRET}`, undefined],
  [`parley="${SECRET}"`, undefined],
  [`parley=short; parley=${SECRET}`, undefined],
  ['', undefined],
  [undefined, undefined],
])('of the Cookie header %j the secret is %j', (header, secret) => {
  expect(createSessionCookie('http://127.0.0.1:3000').read(header)).toBe(secret)
})
