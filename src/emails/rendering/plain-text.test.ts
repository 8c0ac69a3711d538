import { expect, test } from 'vitest'
import { plainTextOf } from './plain-text.ts'

test('the text of HTML keeps its paragraphs, lists, cells and links, without styles, scripts and images', () => {
  const html = `<style>p { color: red }</style><h1>Order 7</h1><p>Hello <b>Ada</b>,
    <a href="https://shop.example/7">your order</a></p><ul><li>Tea</li><li>Milk</li></ul>
    <table><tr><td>Total</td><td>7 €</td></tr></table><img src="x.png" alt="x"><script>alert(1)</script>`
  expect(plainTextOf(html)).toBe(
    'Order 7\n\nHello Ada, your order [https://shop.example/7]\n\n * Tea\n * Milk\n\nTotal\n7 €',
  )
})

test('HTML without text has no text alternative', () => {
  expect(plainTextOf('<img src="x.png">')).toBeNull()
})

test.each([
  ['nested deeply', '<div>'.repeat(200_000)],
  ['of nested lists', '<ul><li>'.repeat(100_000)],
  ['of unclosed brackets', '<'.repeat(1_000_000)],
  ['with half a character at the bound', `${'a'.repeat(99_999)}😀`],
])('HTML %s gives a bounded, well-formed text', (_name, html) => {
  const text = plainTextOf(html) ?? ''
  expect(text.length).toBeLessThanOrEqual(200_000)
  expect(text.isWellFormed()).toBe(true)
})
