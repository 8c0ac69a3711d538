import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Sandbox, startSandbox } from '../../sandbox.ts'
import { call, send, templateTo, texts } from '../../test/client.ts'

let sandbox: Sandbox
beforeAll(async () => {
  sandbox = await startSandbox()
})
afterAll(() => sandbox.stop())

const TO = '393331234567'
const header = (type = 'image') => ({
  type: 'header',
  parameters: [type === 'text' ? texts('x')[0] : { type, [type]: { link: 'https://example.com/a' } }],
})
const body = (...values: string[]) => ({ type: 'body', parameters: texts(...values) })
const named = (...names: (string | undefined)[]) => ({
  type: 'body',
  parameters: names.map((name) => ({ type: 'text', text: 'x', ...(name && { parameter_name: name }) })),
})
const button = (subType: string, index: number, value?: string) => ({
  type: 'button',
  sub_type: subType,
  index: String(index),
  ...(value && {
    parameters: [subType === 'quick_reply' ? { type: 'payload', payload: value } : { type: 'text', text: value }],
  }),
})

test.each([
  ['order_update', [body('Ada', 'A-1')]],
  ['order_ready', [header(), body('Ada', 'A-1'), button('url', 1, 'A-1')]],
  ['order_ready', [header(), body('Ada', 'A-1'), button('quick_reply', 0, 'GO'), button('url', 1, 'A-1')]],
  ['welcome_offer', [named('code', 'first_name')]],
  ['verify_code', [body('123456'), button('url', 0, '123456')]],
  ['shipping_notice', undefined],
])('accepts %s with what it needs', async (name, components) => {
  expect((await send(sandbox, templateTo(TO, name, components))).status).toBe(200)
})

test.each([
  ['an unknown name', 132001, 'no_such_template', [body('x')]],
  ['one that is pending', 132001, 'season_preview', [body('x')]],
  ['one that is rejected', 132001, 'big_prize', undefined],
  ['one that is paused', 132015, 'feedback_invite', [body('x')]],
  ['too few body parameters', 132000, 'order_update', [body('Ada')]],
  ['too many body parameters', 132000, 'order_update', [body('Ada', 'A-1', 'x')]],
  ['parameters of a static template', 132000, 'shipping_notice', [body('Ada')]],
  ['no header', 132000, 'order_ready', [body('Ada', 'A-1'), button('url', 1, 'A-1')]],
  ['a header that the template lacks', 132000, 'order_update', [header('text'), body('Ada', 'A-1')]],
  ['a header of the wrong kind', 132012, 'order_ready', [header('video'), body('a', 'b'), button('url', 1, 'c')]],
  ['no parameter for the button', 132000, 'order_ready', [header(), body('Ada', 'A-1')]],
  [
    'a button that is not there',
    132000,
    'order_ready',
    [header(), body('a', 'b'), button('url', 1, 'c'), button('url', 2, 'd')],
  ],
  ['a button of the wrong kind', 132012, 'order_ready', [header(), body('a', 'b'), button('url', 0, 'c')]],
  ['no code button', 132000, 'verify_code', [body('123456')]],
  ['a parameter too few by name', 132000, 'welcome_offer', [named('code')]],
  ['a name twice', 132000, 'welcome_offer', [named('code', 'code')]],
  ['a name where positions are asked for', 132012, 'order_update', [named('first_name', 'code')]],
  ['a new line', 132018, 'order_update', [body('Ada\nLovelace', 'A-1')]],
  ['a tab', 132018, 'order_update', [body('Ada\tLovelace', 'A-1')]],
  ['five spaces', 132018, 'order_update', [body('Ada     Lovelace', 'A-1')]],
])('refuses %s with %d', async (_what, code, name, components) => {
  const { status, body: answer } = await send(sandbox, templateTo(TO, name, components))
  expect(status).toBeGreaterThanOrEqual(400)
  expect(answer.error).toMatchObject({ code, error_data: { details: expect.any(String) } })
})

test('refuses a language that the template does not have', async () => {
  const { body: answer } = await send(sandbox, templateTo(TO, 'order_update', [body('a', 'b')], 'de'))
  expect(answer.error.code).toBe(132001)
})

test.each([
  ['lacks a name', named('first_name', undefined)],
  ['is positional', body('Ada', 'HELLO10')],
  ['has a wrong name', named('first_name', 'coupon')],
])('answers (#100) when a parameter of a named template %s', async (_what, component) => {
  const { status, body: answer } = await send(sandbox, templateTo(TO, 'welcome_offer', [component]))
  expect(status).toBe(400)
  expect(answer.error).toMatchObject({
    message: '(#100) Invalid parameter',
    code: 100,
    error_data: { details: expect.stringContaining('Parameter name') },
  })
})

test('allows four spaces in a row', async () => {
  expect((await send(sandbox, templateTo(TO, 'order_update', [body('a    b', 'c')]))).status).toBe(200)
})

test('refuses an authentication template to a customer without a phone', async () => {
  const { to: _to, ...message } = templateTo(TO, 'verify_code', [body('1'), button('url', 0, '1')])
  const { body: answer } = await send(sandbox, { ...message, recipient: 'US.1' })
  expect(answer.error.code).toBe(131062)
})

test('refuses a disabled template with 132016', async () => {
  const id = '300000000000006'
  await call(sandbox, 'POST', `/sandbox/templates/${id}/status`, { status: 'DISABLED' })
  expect((await send(sandbox, templateTo(TO, 'shipping_notice'))).body.error.code).toBe(132016)
})
