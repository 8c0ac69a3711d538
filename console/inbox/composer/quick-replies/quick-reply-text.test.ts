import { expect, test } from 'vitest'
import { matching, withName } from './quick-reply-text.ts'

const reply = (id: number, title: string, text: string) => ({ id, title, text, createdAt: '', updatedAt: '' })

test.each([
  ['Hello {{name}}, thanks!', 'Ada', 'Hello Ada, thanks!'],
  ['Hello {{ name }}, thanks {{name}}!', '$& Ada', 'Hello $& Ada, thanks $& Ada!'],
  ['Hello {{name}}, thanks!', null, 'Hello, thanks!'],
  ['{{name}}, your order is ready.', ' ', 'Your order is ready.'],
  ['Thanks!', null, 'Thanks!'],
  ['hello', null, 'hello'],
])('%j for %j is %j', (text, name, expected) => {
  expect(withName(text, name)).toBe(expected)
})

test('titles that begin with the text come first, then those that contain it, then texts', () => {
  const replies = [
    reply(1, 'Opening', 'Ask for café hours'),
    reply(2, 'Our Hours', 'x'),
    reply(3, 'Hours', 'x'),
    reply(4, 'Thanks', 'x'),
  ]
  expect(matching(replies, 'hou').map(({ id }) => id)).toEqual([3, 2, 1])
  expect(matching(replies, 'CAFE').map(({ id }) => id)).toEqual([1])
  expect(matching(replies, '')).toHaveLength(4)
})
