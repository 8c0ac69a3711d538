import { expect, test } from 'vitest'
import { type PartName, renderTemplate, type TemplateParts } from './liquid.ts'
import { examineTemplate } from './template-text.ts'

const template = (html: string, others = {}) => ({ subject: 'Hello', html, text: null, ...others })
const fill = (html: string, values: Record<string, string> = {}) => renderTemplate(template(html), values).html

const examine = (parts: TemplateParts) => examineTemplate(1, parts)
const faultsOf = async (parts: TemplateParts): Promise<[PartName | string, string][]> =>
  (await examine(parts)).faults.map(({ path, message }) => [path, message])

test('lists the variables of all parts in the order of first appearance', async () => {
  const parts = {
    subject: '{{ order }} for {{ name }}',
    html: '{% if vip %}{{ name | upcase }}{% endif %}{% for line in lines %}{{ line }}{% endfor %}{% assign x = 1 %}{{ x }}',
    text: '{{ order }}{{ footer }}',
  }
  expect((await examine(parts)).variables).toEqual(['order', 'name', 'vip', 'lines', 'footer'])
})

test('names each part that is no template', async () => {
  const faults = await faultsOf({ subject: '{{ a', html: '{% if %}', text: '{% nope %}' })
  expect(faults.map(([path]) => path)).toEqual(['subject', 'html', 'text'])
  expect(await faultsOf(template('{{ a | nofilter }}'))).toEqual([['html', expect.stringMatching(/^is no template/)]])
})

test.each([
  '{{ user.name }}',
  '{% if user.vip %}x{% endif %}',
  '{{ a.b.c }}',
  '{{ rows[0].name }}',
  '{{ a | append: b.c }}',
])('%s is refused, since no value can fill it', async (html) =>
  expect(await faultsOf(template(html))).toEqual([['html', expect.stringMatching(/^asks for .* no value can fill/)]]))

test.each([
  '{{ name.size }}',
  '{{ name[0] }}',
  '{% assign parts = list | split: "," %}{{ parts.first }}{% for part in parts %}{{ forloop.index }}{% endfor %}',
])('%s is allowed, since text can fill it', async (html) => expect(await faultsOf(template(html))).toEqual([]))

test('escapes values in HTML', () => {
  expect(fill('<p title="{{ a }}">{{ a }}</p>', { a: `<script>"'&` })).toBe(
    '<p title="&lt;script&gt;&#34;&#39;&amp;">&lt;script&gt;&#34;&#39;&amp;</p>',
  )
})

test('leaves values in the text as they are', () => {
  expect(renderTemplate({ subject: 's', html: 'h', text: '{{ a }}' }, { a: '<b>\n&' }).text).toBe('<b>\n&')
})

test('a variable without a value is empty', () => expect(fill('[{{ a }}][{{ a.b.c }}]')).toBe('[][]'))

test('keeps the subject to one line whatever the values', () => {
  const { subject } = renderTemplate(
    { subject: 'Hi {{ a }}', html: '', text: null },
    { a: 'x\r\nBcc: y@z\u2028\u2029\u0085\u0000\u000b end' },
  )
  expect(subject).toBe('Hi x Bcc: y@z end')
})

test('values reach nothing but themselves', () => {
  expect(fill('{{ constructor }}{{ toString }}{{ __proto__ }}{{ a.constructor }}{{ a.length }}', { a: 'x' })).toBe('1')
})

test.each([
  ['a file', '{% include "/etc/passwd" %}'],
  ['another template', '{% render "x" %}'],
  ['a layout', '{% layout "/etc/passwd" %}'],
])('reads no %s', async (_name, html) =>
  expect(await faultsOf(template(html))).toEqual([['html', expect.stringMatching(/^is no template/)]]))

test.each([
  ['an endless range', '{% for i in (1..1000000000) %}x{% endfor %}'],
  [
    'a text that doubles',
    "{% assign s = 'aaaaaaaaaa' %}{% for i in (1..60) %}{% assign s = s | append: s %}{% endfor %}",
  ],
])('gives up %s', (_name, html) => expect(() => fill(html)).toThrow(/customFields|cannot fill/))
