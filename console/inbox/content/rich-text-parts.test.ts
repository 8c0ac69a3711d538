import { describe, expect, test } from 'vitest'
import { type Part, partsOf } from './rich-text-parts.ts'

const shown = (parts: readonly Part[]): string =>
  parts
    .map((part) => {
      if (part.kind === 'text') return part.text
      if (part.kind === 'link') return `<link ${part.href}>${part.text}</link>`
      return `<${part.kind}>${'parts' in part ? shown(part.parts) : part.text}</${part.kind}>`
    })
    .join('')

describe('a text is shown as WhatsApp shows it', () => {
  test.each([
    ['*bold* and _italic_ and ~struck~', '<bold>bold</bold> and <italic>italic</italic> and <struck>struck</struck>'],
    ['*_both_ of them*', '<bold><italic>both</italic> of them</bold>'],
    ['a `*code*` and ```\n*two*\nlines\n```', 'a <code>*code*</code> and <block>*two*\nlines</block>'],
    ['2*3*4, snake_case_name, a~b~c', '2*3*4, snake_case_name, a~b~c'],
    ['*not bold * and * not * either', '*not bold * and * not * either'],
    ['*not\nbold*', '*not\nbold*'],
    ['**', '**'],
    ['*a*b c*', '<bold>a*b c</bold>'],
    ['(*in brackets*), "*quoted*"!', '(<bold>in brackets</bold>), "<bold>quoted</bold>"!'],
    ['*жирный* _斜体_', '<bold>жирный</bold> <italic>斜体</italic>'],
    ['see https://a.example/x_y_z?q=1.', 'see <link https://a.example/x_y_z?q=1>https://a.example/x_y_z?q=1</link>.'],
    ['*https://a.example/x*', '<bold><link https://a.example/x>https://a.example/x</link></bold>'],
    ['(https://a.example/b_(c))', '(<link https://a.example/b_(c)>https://a.example/b_(c)</link>)'],
    ['javascript:alert(1) ftp://a.example', 'javascript:alert(1) ftp://a.example'],
    ['https:// and https://[', 'https:// and https://['],
    ['<b>no</b>', '<b>no</b>'],
  ])('%s', (text, expected) => {
    expect(shown(partsOf(text))).toBe(expected)
  })

  test('a text longer than those of WhatsApp is shown as it is', () => {
    const text = '*a '.repeat(20_000)
    expect(partsOf(text)).toEqual([{ kind: 'text', text }])
  })

  test('marks without an end leave every character', () => {
    const text = '*_~`'.repeat(1_000)
    expect(shown(partsOf(text)).replace(/<\/?(code|bold|italic|struck)>/g, '').length).toBeLessThanOrEqual(text.length)
  })
})
