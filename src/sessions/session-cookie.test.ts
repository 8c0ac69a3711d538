import { expect, test } from 'vitest'
import { createSessionCookie } from './session-cookie.ts'

const SECRET = 'a'.repeat(43)
const OTHER = 'b'.repeat(43)
const none = { state: 'none' }
const one = { state: 'one', secret: SECRET }
const several = { state: 'several' }

test('under https the cookie is Secure and bound to its host, and the one of earlier versions is none', () => {
  const cookie = createSessionCookie('https://parley.example')
  const attributes = 'Secure; HttpOnly; SameSite=Lax'
  const former = `__Secure-parley=; Max-Age=0; Path=/console; ${attributes}`
  expect(cookie.give(SECRET, 60)).toEqual([`__Host-parley=${SECRET}; Max-Age=60; Path=/; ${attributes}`, former])
  expect(cookie.take()).toEqual([`__Host-parley=; Max-Age=0; Path=/; ${attributes}`, former])
  expect(cookie.read(`parley=${OTHER}; __Secure-parley=${OTHER}; __Host-parley=${SECRET}`)).toEqual(one)
  expect(cookie.read(`parley=${SECRET}`)).toEqual(none)
  expect(cookie.read(`__Secure-parley=${SECRET}`)).toEqual(none)
  expect(cookie.read(`__Host-parley=${OTHER}; __Host-parley=${SECRET}`)).toEqual(several)
})

test.each([
  [`parley=${SECRET}`, one],
  [`other=1; parley=${SECRET};x=y`, one],
  [`xparley=${SECRET}`, none],
  [`__Secure-parley=${SECRET}`, none],
  [`parley="${SECRET}"`, none],
  [`parley=short; parley=${SECRET}`, several],
  [`parley=${SECRET}; parley=${SECRET}`, several],
  [`parley=${SECRET};parley=`, several],
  ['', none],
  [undefined, none],
])('the Cookie header %j is read as %j', (header, sent) => {
  expect(createSessionCookie('http://127.0.0.1:3000').read(header)).toEqual(sent)
})
