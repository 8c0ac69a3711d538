import { describe, expect, test } from 'vitest'
import type { TemplateComponent } from '../providers/provider.ts'
import { type ComponentInput, fillComponents, type ParameterInput, renderBody } from './fill-components.ts'
import type { Template } from './template.ts'

const template = (
  components: TemplateComponent[],
  parameterFormat: 'POSITIONAL' | 'NAMED' = 'POSITIONAL',
): Template => ({
  familyId: 'tmpl_1',
  name: 'order',
  language: 'en',
  status: 'APPROVED',
  category: 'UTILITY',
  parameterFormat,
  components,
})

const text = (value: string): ParameterInput => ({ type: 'text', text: value })
const body = (...parameters: ParameterInput[]): ComponentInput => ({ type: 'BODY', parameters })
const buttons = (...parameters: ParameterInput[]): ComponentInput => ({ type: 'BUTTONS', parameters })

/** The `{component, expected, given}` of the refusal. */
const mismatchOf = (run: () => unknown): unknown => {
  try {
    run()
  } catch (error) {
    return (error as { body: { error: { code: string; details: unknown } } }).body.error
  }
  return undefined
}

describe('positional templates', () => {
  const order = template([{ type: 'BODY', text: 'Hi {{1}}, order {{2}}. Bye {{1}}' }])

  test('parameters map in order', () => {
    expect(fillComponents(order, [body(text('Ada'), text('A-1'))])).toEqual([
      { type: 'body', parameters: [text('Ada'), text('A-1')] },
    ])
  })

  test.each([
    [0, [] as ComponentInput[]],
    [1, [body(text('Ada'))]],
    [3, [body(text('a'), text('b'), text('c'))]],
  ])('%i parameters for two placeholders are refused with both counts', (given, components) => {
    expect(mismatchOf(() => fillComponents(order, components))).toMatchObject({
      code: 'parameter_mismatch',
      details: { component: 'BODY', expected: 2, given },
    })
  })

  test('a parameter_name goes out as given, for the provider to refuse', () => {
    const named = { ...text('Ada'), parameter_name: 'first_name' }
    expect(fillComponents(order, [body(named)])).toEqual([{ type: 'body', parameters: [named] }])
  })

  test('a template without placeholders is sent without components, and takes none', () => {
    const fixed = template([
      { type: 'BODY', text: 'We are open' },
      { type: 'FOOTER', text: 'Reply STOP' },
    ])
    expect(fillComponents(fixed, [])).toEqual([])
    expect(mismatchOf(() => fillComponents(fixed, [body(text('x'))]))).toMatchObject({ code: 'parameter_mismatch' })
  })
})

describe('named templates', () => {
  const offer = template([{ type: 'BODY', text: '{{code}} for {{first_name}}: {{code}}' }], 'NAMED')

  test('without names, the first parameter fills the placeholder that appears first', () => {
    expect(fillComponents(offer, [body(text('SAVE10'), text('Ada'))])).toEqual([
      {
        type: 'body',
        parameters: [
          { ...text('SAVE10'), parameter_name: 'code' },
          { ...text('Ada'), parameter_name: 'first_name' },
        ],
      },
    ])
  })

  test('with names, they go out as given, right or wrong', () => {
    const named = [{ ...text('Ada'), parameter_name: 'nonsense' }]
    expect(fillComponents(offer, [body(...named)])).toEqual([{ type: 'body', parameters: named }])
  })

  test('the count is checked when no name is given', () => {
    expect(mismatchOf(() => fillComponents(offer, [body(text('SAVE10'))]))).toMatchObject({
      details: { component: 'BODY', expected: 2, given: 1 },
    })
  })

  test('the body reads as the customer reads it', () => {
    expect(renderBody(offer, [body(text('SAVE10'), text('Ada'))])).toBe('SAVE10 for Ada: SAVE10')
    expect(renderBody(offer, [body({ ...text('Ada'), parameter_name: 'first_name' })])).toBe(
      '{{code}} for Ada: {{code}}',
    )
  })
})

describe('headers and footers', () => {
  test('a media header takes one parameter, passed through', () => {
    const withImage = template([
      { type: 'HEADER', format: 'IMAGE' },
      { type: 'BODY', text: 'Look' },
    ])
    const image = { type: 'image', image: { link: 'https://example.com/a.jpg' } }
    expect(fillComponents(withImage, [{ type: 'HEADER', parameters: [image] }])).toEqual([
      { type: 'header', parameters: [image] },
    ])
    expect(mismatchOf(() => fillComponents(withImage, []))).toMatchObject({
      details: { component: 'HEADER', expected: 1, given: 0 },
    })
  })

  test('a footer takes nothing', () => {
    const plain = template([
      { type: 'BODY', text: 'Hi' },
      { type: 'FOOTER', text: 'Bye' },
    ])
    expect(fillComponents(plain, [{ type: 'FOOTER', parameters: [] }])).toEqual([])
    expect(mismatchOf(() => fillComponents(plain, [{ type: 'FOOTER', parameters: [text('x')] }]))).toMatchObject({
      details: { component: 'FOOTER', expected: 0, given: 1 },
    })
  })

  test('a component given twice is named', () => {
    const plain = template([{ type: 'BODY', text: 'Hi' }])
    expect(mismatchOf(() => fillComponents(plain, [body(), body()]))).toMatchObject({
      code: 'validation_error',
      details: { fields: [{ path: 'template.components[1].type' }] },
    })
  })
})

describe('buttons', () => {
  const quick = { type: 'QUICK_REPLY', text: 'Yes' }
  const link = { type: 'URL', text: 'Track', url: 'https://shop.example/{{1}}' }
  const fixedLink = { type: 'URL', text: 'Shop', url: 'https://shop.example' }
  const call = { type: 'PHONE_NUMBER', text: 'Call' }
  const copy = { type: 'COPY_CODE', text: 'Copy' }
  const otp = { type: 'OTP', otp_type: 'COPY_CODE', text: 'Copy code' }
  const withButtons = (...list: { type: string; text?: string; url?: string }[]) =>
    template([
      { type: 'BODY', text: 'Hi' },
      { type: 'BUTTONS', buttons: list },
    ])

  test('the k-th parameter fills the k-th button that takes one', () => {
    expect(
      fillComponents(withButtons(call, quick, fixedLink, link, copy), [
        buttons(text('YES'), text('A-1'), text('SAVE')),
      ]),
    ).toEqual([
      { type: 'button', sub_type: 'quick_reply', index: '1', parameters: [{ type: 'payload', payload: 'YES' }] },
      { type: 'button', sub_type: 'url', index: '3', parameters: [text('A-1')] },
      { type: 'button', sub_type: 'copy_code', index: '4', parameters: [{ type: 'coupon_code', coupon_code: 'SAVE' }] },
    ])
  })

  test('a quick reply can do without: one parameter is for the link', () => {
    expect(fillComponents(withButtons(quick, link), [buttons(text('A-1'))])).toEqual([
      { type: 'button', sub_type: 'url', index: '1', parameters: [text('A-1')] },
    ])
    expect(fillComponents(withButtons(quick), [])).toEqual([])
  })

  test('parameters of other kinds go out as given', () => {
    const payload = { type: 'payload', payload: 'CONFIRM' }
    expect(fillComponents(withButtons(quick), [buttons(payload)])).toEqual([
      { type: 'button', sub_type: 'quick_reply', index: '0', parameters: [payload] },
    ])
  })

  test('a one-time code is sent as the address of its button', () => {
    expect(fillComponents(withButtons(otp), [buttons(text('123456'))])).toEqual([
      { type: 'button', sub_type: 'url', index: '0', parameters: [text('123456')] },
    ])
  })

  test.each([[[]], [[text('a'), text('b')]]])('the wrong number is refused', (given) => {
    expect(mismatchOf(() => fillComponents(withButtons(link), [buttons(...given)]))).toMatchObject({
      code: 'parameter_mismatch',
      details: { component: 'BUTTONS', expected: 1, given: given.length },
    })
  })
})

describe('the values of parameters', () => {
  const link = 'https://example.com/a.jpg'
  const image = template([{ type: 'HEADER', format: 'IMAGE' }])
  const place = template([{ type: 'HEADER', format: 'LOCATION' }])
  const code = template([{ type: 'BUTTONS', buttons: [{ type: 'COPY_CODE', text: 'Copy' }] }])
  const header = (parameter: ParameterInput): ComponentInput => ({ type: 'HEADER', parameters: [parameter] })
  const refusalOf = (of: Template, input: ComponentInput) => mismatchOf(() => fillComponents(of, [input]))
  const fault = (path: string) => ({
    code: 'validation_error',
    details: { fields: [{ path: `template.components[0].parameters[0].${path}` }] },
  })

  test.each(['a\nb', 'a\tb', `a${' '.repeat(5)}b`])('%j in a body is refused, as the provider would', (value) => {
    const hello = template([{ type: 'BODY', text: 'Hi {{1}}' }])
    expect(refusalOf(hello, body(text(value)))).toMatchObject({
      code: 'parameter_mismatch',
      details: { component: 'BODY', path: 'template.components[0].parameters[0].text' },
    })
    expect(refusalOf(hello, body(text('a    b')))).toBeUndefined()
  })

  test.each<[string, ParameterInput, object]>([
    ['no file', { type: 'image' }, fault('image')],
    ['a file without a source', { type: 'image', image: {} }, fault('image')],
    ['a file with two sources', { type: 'image', image: { link, id: '1' } }, fault('image')],
    ['a long name', { type: 'image', image: { link, filename: 'x'.repeat(241) } }, fault('image.filename')],
    [
      'a file of another kind',
      { type: 'video', video: { link } },
      { code: 'parameter_mismatch', details: { component: 'HEADER', expected: 'image', given: 'video' } },
    ],
  ])('a header with %s is refused', (_, parameter, expected) => {
    expect(refusalOf(image, header(parameter))).toMatchObject(expected)
  })

  test.each<[object, object | undefined]>([
    [{ latitude: 91, longitude: 9 }, fault('location.latitude')],
    [{ latitude: 45 }, fault('location.longitude')],
    [{ latitude: 45, longitude: 9, name: 'Duomo' }, undefined],
  ])('a header with the place %j is answered %j', (location, expected) => {
    const refusal = refusalOf(place, header({ type: 'location', location }))
    if (expected === undefined) expect(refusal).toBeUndefined()
    else expect(refusal).toMatchObject(expected)
  })

  test('a code has at most 20 characters', () => {
    const long = 'x'.repeat(21)
    expect(refusalOf(code, buttons(text(long)))).toMatchObject(fault('text'))
    expect(refusalOf(code, buttons({ type: 'coupon_code', coupon_code: long }))).toMatchObject(fault('coupon_code'))
    expect(refusalOf(code, buttons(text('x'.repeat(20))))).toBeUndefined()
  })
})

describe('buttons that the provider requires', () => {
  const flow = template([
    { type: 'BODY', text: 'Fill {{1}}' },
    {
      type: 'BUTTONS',
      buttons: [{ type: 'QUICK_REPLY' }, { type: 'FLOW' }, { type: 'URL', url: 'https://a.example/{{1}}' }],
    },
  ])
  const [url, payload, action] = [text('42'), text('yes'), { type: 'action', action: { flow_token: 't' } }]
  const filled = [
    { type: 'button', sub_type: 'flow', index: '1' },
    { type: 'button', sub_type: 'url', index: '2', parameters: [url] },
  ]

  test('go out without parameters', () => {
    const only = template([{ type: 'BUTTONS', buttons: [{ type: 'FLOW' }] }])
    expect(fillComponents(only, [])).toEqual([{ type: 'button', sub_type: 'flow', index: '0' }])
    expect(fillComponents(flow, [body(text('x')), buttons(url)]).slice(1)).toEqual(filled)
  })

  test('take the parameter that is given', () => {
    const all = fillComponents(flow, [body(text('x')), buttons(payload, action, url)]).slice(1)
    expect(all).toEqual([
      { type: 'button', sub_type: 'quick_reply', index: '0', parameters: [{ type: 'payload', payload: 'yes' }] },
      { ...filled[0], parameters: [action] },
      filled[1],
    ])
  })
})

describe('filled texts', () => {
  const named = (value: string) => ({ ...text(value), parameter_name: 'name' })
  const header = (value: string): ComponentInput => ({ type: 'HEADER', parameters: [text(value)] })
  const button = [{ type: 'URL', url: 'https://a.example/{{1}}' }]
  test.each<[string, Template, (value: string) => ComponentInput, number]>([
    ['a body', template([{ type: 'BODY', text: 'Hi {{1}}' }]), (value) => body(text(value)), 1_021],
    [
      'a named body',
      template([{ type: 'BODY', text: '{{name}}{{name}}' }], 'NAMED'),
      (value) => body(named(value)),
      512,
    ],
    ['a header', template([{ type: 'HEADER', format: 'TEXT', text: 'Re: {{1}}' }]), header, 56],
    ['an address', template([{ type: 'BUTTONS', buttons: button }]), (value) => buttons(text(value)), 1_982],
  ])('%s is refused above the limit of the provider', (_name, own, fill, most) => {
    expect(() => fillComponents(own, [fill('x'.repeat(most))])).not.toThrow()
    const refusal = mismatchOf(() => fillComponents(own, [fill('x'.repeat(most + 1))]))
    expect(refusal).toMatchObject({ code: 'validation_error', details: { fields: [{ message: expect.any(String) }] } })
  })

  test('a template that is too long by itself is left to the provider', () => {
    expect(fillComponents(template([{ type: 'BODY', text: 'x'.repeat(1_100) }]), [])).toEqual([])
  })
})
