import { Ajv2020 } from 'ajv/dist/2020.js'
import { Value } from 'typebox/value'
import { expect, test } from 'vitest'
import outboundSchema from '../../sandbox/outbound-message.schema.json' with { type: 'json' }
import { toGraphMessage } from '../../src/providers/provider-api.ts'
import { composePlain, composeTemplate } from '../../src/sends/compose-message.ts'
import { parseSend } from '../../src/sends/send-request.ts'
import { SendBody } from '../../src/sends/send-shape.ts'
import type { Template } from '../../src/templates/template.ts'
import examples from '../fixtures/platform/send-examples.json' with { type: 'json' }

// The examples of sends in Meta's OpenAPI document (facebook/openapi, business-messaging-api_v23.0.yaml, MIT): each is a request
// to Parley that goes out with the same content, or stands here with the reason why not. docs/sending.md says the same.
const CATALOG = 'Parley has no catalog'
const PAYMENT = 'payments are offered in two countries, and Parley has no orders'
const NOT_OFFERED: Record<string, string> = {
  'Send Catalog Message': CATALOG,
  'Send Multi-Product Message': CATALOG,
  'Send Single Product Message': CATALOG,
  'Send Order Details Message': PAYMENT,
  'Send Order Status Message': PAYMENT,
}
/** No message: `POST …/conversations/{chatId}/typing` sends it. */
const RECEIPT = 'Send typing indicator and read receipt'

// biome-ignore lint/suspicious/noExplicitAny: the examples are of many shapes
type Json = Record<string, any>
const QUOTED = { id: 7, wamid: 'wamid.HBgLM' }
const RECIPIENT = '16505551234'
const isOutbound = new Ajv2020({ strict: false }).compile(outboundSchema)

/** An example with values in the places of its placeholders, one recipient, and the type that two examples leave out. */
function filled(example: unknown): Json {
  const text = JSON.stringify(example)
    .replaceAll(/"<?http\(s\):\/\/[^"]*"/g, '"https://example.com/file"')
    .replaceAll(/"message_id":"[^"]*"/g, `"message_id":"${QUOTED.wamid}"`)
    .replaceAll(/"code":"<?(language[^"]*|LANGUAGE[^"]*)"/g, '"code":"en_US"')
    .replaceAll(/"text":(true|false)/g, '"text":"$1"')
  const request = JSON.parse(text)
  return { ...request, to: RECIPIENT, type: request.type ?? (request.interactive ? 'interactive' : 'text') }
}

/** The request to Parley that says the same. */
function toBody(example: Json): Json {
  const { type } = example
  const content = example[type]
  const quoted = example.context && { quoted: QUOTED.id }
  const body = { recipient: RECIPIENT, type, ...quoted }
  if (type === 'text') return { ...body, text: content.body, ...(content.preview_url && { previewUrl: true }) }
  if (type === 'reaction') return { ...body, reaction: { messageId: QUOTED.id, emoji: content.emoji } }
  if (type === 'template') return { ...body, template: toTemplate(content) }
  if (['interactive', 'location', 'contacts'].includes(type)) return { ...body, [type]: content }
  const { id, ...media } = content
  return { ...body, media: { ...(id !== undefined && { providerMediaId: id }), ...media } }
}

const componentsOf = (template: Json, type: string): Json[] =>
  (template.components ?? []).filter((component: Json) => component.type === type)

const toTemplate = (template: Json) => ({
  name: template.name,
  languageCode: template.language.code,
  components: [
    ...['header', 'body'].flatMap((type) =>
      componentsOf(template, type).map(({ parameters }) => ({ type: type.toUpperCase(), parameters })),
    ),
    { type: 'BUTTONS', parameters: componentsOf(template, 'button').flatMap(({ parameters }) => parameters) },
  ],
})

/** An approved template that the example fills. */
function templateOf(template: Json): Template {
  const buttons = componentsOf(template, 'button').reduce<Json[]>((all, { sub_type, index }) => {
    all[Number(index)] = { type: sub_type.toUpperCase(), url: 'https://example.com/{{1}}' }
    return all
  }, [])
  const header = componentsOf(template, 'header')[0]?.parameters[0]
  const count = componentsOf(template, 'body')[0]?.parameters.length ?? 0
  const text = Array.from({ length: count }, (_, place) => `{{${place + 1}}}`).join(' ')
  return {
    familyId: 'tmpl_1',
    name: template.name,
    language: template.language.code,
    status: 'APPROVED',
    category: 'UTILITY',
    parameterFormat: 'POSITIONAL',
    components: [
      ...(header ? [{ type: 'HEADER', format: header.type.toUpperCase() }] : []),
      { type: 'BODY', text },
      { type: 'BUTTONS', buttons: Array.from(buttons, (button) => button ?? { type: 'PHONE_NUMBER' }) as never },
    ],
  }
}

/** What Parley sends for a body. */
function sentFor(body: Json, example: Json): Json {
  expect([...Value.Errors(SendBody, body)]).toEqual([])
  const { recipient, content, quoted, directSend } = parseSend(body as SendBody)
  const outbound =
    content.type === 'template'
      ? composeTemplate(templateOf(example.template), content.components)
      : composePlain(content, QUOTED)
  const quotedWamid = quoted === undefined ? null : QUOTED.wamid
  return JSON.parse(
    toGraphMessage({ recipient, content: outbound.content, reference: '90217', quotedWamid, directSend }),
  )
}

/** The example with the members that Parley always writes, and the buttons of templates as Parley writes them. */
function expected(example: Json): Json {
  const rest = structuredClone(example)
  if (rest.text) rest.text.preview_url ??= false
  if (rest.template) {
    delete rest.template.language.policy
    for (const button of componentsOf(rest.template, 'button')) {
      button.index = String(button.index)
      button.sub_type = button.sub_type.toLowerCase()
      if (button.sub_type !== 'quick_reply') continue
      button.parameters = button.parameters.map((one: Json) =>
        one.type === 'text' ? { type: 'payload', payload: one.text } : one,
      )
    }
  }
  return { recipient_type: 'individual', ...rest, biz_opaque_callback_data: '90217' }
}

const offered = Object.entries(examples).filter(([name]) => !(name in NOT_OFFERED) && name !== RECEIPT)

test('all examples but six are requests to Parley', () => {
  expect(Object.keys(examples)).toEqual(expect.arrayContaining([...Object.keys(NOT_OFFERED), RECEIPT]))
  expect([Object.keys(examples).length, offered.length]).toEqual([50, 44])
})

test.each(offered)('%s', (_, example) => {
  const request = filled(example)
  const sent = sentFor(toBody(request), request)
  expect(sent).toEqual(expected(request))
  expect(isOutbound(sent), JSON.stringify(isOutbound.errors)).toBe(true)
})
