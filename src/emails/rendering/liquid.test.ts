import { expect, test } from 'vitest'
import { AppError } from '../../platform/errors.ts'
import { type PartName, renderTemplate, type TemplateParts } from './liquid.ts'
import { examineTemplate } from './template-text.ts'
import type { Values } from './template-values.ts'

const template = (html: string, others = {}) => ({ subject: 'Hello', html, text: null, ...others })
const fill = (html: string, values: Values = {}) => renderTemplate(template(html), values).html

const examine = (parts: TemplateParts) => examineTemplate(1, parts)
const faultsOf = async (parts: TemplateParts): Promise<[PartName | string, string][]> =>
  (await examine(parts)).faults.map(({ path, message }) => [path, message])

test('lists the variables of all parts in the order of first appearance', async () => {
  const parts = {
    subject: '{{ order }} for {{ name }}',
    html: '{% if vip %}{{ name | upcase }}{% endif %}{% for line in lines %}{{ line.name }}{% endfor %}{% assign x = 1 %}{{ x }}',
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
  '{{ rows[0].product.name }}',
  '{{ a | append: b.c }}',
  '{% for line in lines %}{{ line }}{% endfor %}',
  '{% for line in lines %}{{ line.product.name }}{% endfor %}',
  '{% for line in lines %}{% if line.product.stock > 1 %}x{% endif %}{% endfor %}',
  '{% tablerow line in lines %}{{ line.a.b | upcase }}{% endtablerow %}',
])('%s is refused, since no value can fill it', async (html) =>
  expect(await faultsOf(template(html))).toEqual([['html', expect.stringMatching(/^asks for .* no value can fill/)]]))

test.each([
  '{{ name.size }}',
  '{{ name[0] }}',
  '{% assign parts = list | split: "," %}{{ parts.first }}{% for part in parts %}{{ forloop.index }}{% endfor %}',
])('%s is allowed, since text can fill it', async (html) => expect(await faultsOf(template(html))).toEqual([]))

test.each([
  '{% for line in lines %}{{ line.name }} {{ line.quantity | times: 2 }}{% endfor %}',
  '{% if a %}{% for line in lines %}{% unless line.gift %}{{ line.name.size }}{% endunless %}{% endfor %}{% endif %}',
  '{{ lines[0].name }} {{ lines.first.name }} {{ lines.size }} {{ lines | map: "name" | join: ", " }}',
  '{% tablerow line in lines cols: 2 %}{{ line.name }}{% endtablerow %}',
])('%s is allowed, since a list of items can fill it', async (html) =>
  expect(await faultsOf(template(html))).toEqual([]))

test('refuses a variable that is a text and a list, in one part or in two', async () => {
  const loop = '{% for line in lines %}{{ line.name }}{% endfor %}'
  expect(await faultsOf(template(`${loop}{{ lines }}`))).toEqual([['html', 'uses `lines` as a text and as a list']])
  expect(await faultsOf({ subject: '{{ lines }}', html: loop, text: null })).toEqual([
    ['subject', 'uses `lines` as a text, and another part as a list'],
  ])
})

test('fills loops, conditions and filters with lists of items, numbers and booleans', () => {
  const html =
    '{% for line in lines %}[{{ line.name }}:{{ line.quantity }}{% if line.gift %}!{% endif %}{{ line.note }}]{% endfor %}'
  const lines = [
    { name: 'Tea & milk', quantity: 2, gift: true },
    { name: 'Cup', quantity: 1.5, gift: false, note: null },
  ]
  expect(fill(html, { lines })).toBe('[Tea &amp; milk:2!][Cup:1.5]')
  expect(fill('{{ total | plus: 1 }}{% if vip %}vip{% endif %}{{ vip }}', { total: 41, vip: false })).toBe('42false')
  expect(fill('{{ lines | map: "name" | join: ", " }} {{ lines.size }} {{ lines[1].name }}', { lines })).toBe(
    'Tea &amp; milk, Cup 2 Cup',
  )
})

const refusalOf = (html: string, values: Values, isStrict = false) => {
  try {
    return renderTemplate(template(html), values, isStrict).html
  } catch (error) {
    return error instanceof AppError ? error.body : error
  }
}

test.each([
  [
    '{% for line in lines %}{{ line.name }}{% endfor %}',
    { lines: 'Tea' },
    'must be a list of items: the template reads its items',
  ],
  ['{{ lines | map: "name" }}', { lines: 7 }, 'must be a list of items: the template reads its items'],
  ['{{ lines }}', { lines: [{ name: 'Tea' }] }, 'must not be a list: the template writes it as a text'],
  ['{{ lines | upcase }}', { lines: [] }, 'must not be a list: the template writes it as a text'],
])('%s refuses %j', (html, values, message) => {
  expect(refusalOf(html, values)).toMatchObject({
    error: { details: { fields: [{ path: 'customFields.lines', message }] } },
  })
})

test('lists missing variables and members of items only if asked to', () => {
  const html = '{{ name }}{% for line in lines %}{{ line.name }}{{ line.price }}{% endfor %}{{ unsubscribe_url }}'
  const lines = [{ name: 'Tea', price: 1 }, { name: 'Cup' }]
  expect(refusalOf(html, { lines })).toBe('Tea1Cup{{ unsubscribe_url }}')
  expect(refusalOf(html, { lines }, true)).toEqual({
    error: {
      code: 'parameter_mismatch',
      message: 'Values are missing: name, lines[1].price',
      details: { missing: ['name', 'lines[1].price'] },
    },
  })
  expect(refusalOf(html, { name: '', lines: [] }, true)).toBe('{{ unsubscribe_url }}')
})

test('leaves the unsubscribe link to the service', async () => {
  expect(await examine(template('<a href="{{ unsubscribe_url }}">x</a>{{ a }}'))).toMatchObject({
    variables: ['a'],
    faults: [],
    hasUnsubscribeLink: true,
  })
  expect(await faultsOf({ subject: '{{ unsubscribe_url }}', html: 'x', text: null })).toEqual([
    ['subject', 'must not contain `unsubscribe_url`'],
  ])
  expect(refusalOf('x', { unsubscribe_url: 'https://shop.example' })).toMatchObject({
    error: { details: { fields: [{ path: 'customFields.unsubscribe_url' }] } },
  })
})

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
