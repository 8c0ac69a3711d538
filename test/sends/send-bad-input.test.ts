import { beforeAll, describe, expect, test } from 'vitest'
import { startTestService, type TestService } from '../service.ts'

/** Each field of the send body wrong in each way: a 4xx that names the field, and nothing written. */
let service: TestService
let company: Awaited<ReturnType<TestService['createCompany']>>
beforeAll(async () => {
  service = await startTestService({ mirrors: true })
  company = await service.createCompany()
})

const post = (body: unknown, headers: Record<string, string> = {}) =>
  company.api('POST', '/templates/whatsapp/send', body, headers)

const link = 'https://example.com/a.jpg'
const parameters = [{ type: 'text', text: 'Ada' }]
const base = { recipient: '393331234567' }
const bodies = {
  text: { ...base, type: 'text', text: 'Hi' },
  template: {
    ...base,
    type: 'template',
    template: { name: 'order_update', languageCode: 'it', components: [{ type: 'BODY', parameters }] },
  },
  byId: { ...base, type: 'template', template: { id: 'tmpl_unknown' } },
  media: { ...base, type: 'document', media: { link, caption: 'Offer', filename: 'offer.pdf' } },
  mediaById: { ...base, type: 'image', media: { providerMediaId: '42' } },
  sender: { ...base, type: 'text', text: 'Hi', sender: '393330000000' },
  source: { ...base, type: 'text', text: 'Hi', contactSource: 'Shop' },
  buttons: {
    ...base,
    type: 'interactive',
    interactive: {
      type: 'button',
      header: { type: 'text', text: 'Size' },
      body: { text: 'Ok?' },
      footer: { text: 'Free' },
      action: { buttons: [{ type: 'reply', reply: { id: 'yes', title: 'Yes' } }] },
    },
  },
  list: {
    ...base,
    type: 'interactive',
    interactive: {
      type: 'list',
      body: { text: 'When?' },
      action: {
        button: 'Open',
        sections: [{ title: 'Week', rows: [{ id: 'fri', title: 'Friday', description: 'Late' }] }],
      },
    },
  },
  link: {
    ...base,
    type: 'interactive',
    interactive: {
      type: 'cta_url',
      header: { type: 'image', image: { link } },
      body: { text: 'Gone' },
      action: { name: 'cta_url', parameters: { display_text: 'Track', url: 'https://example.com' } },
    },
  },
  flow: {
    ...base,
    type: 'interactive',
    interactive: {
      type: 'flow',
      body: { text: 'Book' },
      action: {
        name: 'flow',
        parameters: {
          flow_message_version: '3',
          flow_id: '1',
          flow_cta: 'Book',
          flow_token: 't',
          mode: 'draft',
          flow_action: 'navigate',
          flow_action_payload: { screen: 'A' },
        },
      },
    },
  },
  location: { ...base, type: 'location', location: { latitude: 1, longitude: 2, name: 'Duomo', address: 'Milano' } },
  contacts: {
    ...base,
    type: 'contacts',
    contacts: [
      {
        name: { formatted_name: 'Ada', first_name: 'Ada' },
        phones: [{ phone: '+39', wa_id: '393331234567', type: 'WORK' }],
        urls: [{ url: 'https://example.com' }],
        birthday: '1985-12-10',
      },
    ],
  },
  reaction: { ...base, type: 'reaction', reaction: { messageId: 7, emoji: '👍' } },
}

/** Where each field stands, in which body, and how long it may be. */
const fields: [path: string, body: object, tooLong: number | undefined][] = [
  ['recipient', bodies.text, 17],
  ['type', bodies.text, 100],
  ['text', bodies.text, 4097],
  ['sender', bodies.sender, 129],
  ['contactSource', bodies.source, 65],
  ['template.name', bodies.template, 513],
  ['template.id', bodies.byId, 65],
  ['template.languageCode', bodies.template, 17],
  ['template.components[0].type', bodies.template, 100],
  ['template.components[0].parameters[0].type', bodies.template, 65],
  ['template.components[0].parameters[0].text', bodies.template, 32_769],
  ['media.link', bodies.media, 2049],
  ['media.providerMediaId', bodies.mediaById, 257],
  ['media.caption', bodies.media, 1025],
  ['media.filename', bodies.media, 241],
  ['interactive.type', bodies.buttons, 100],
  ['interactive.header.text', bodies.buttons, 61],
  ['interactive.body.text', bodies.buttons, 1025],
  ['interactive.footer.text', bodies.buttons, 61],
  ['interactive.action.buttons[0].reply.id', bodies.buttons, 257],
  ['interactive.action.buttons[0].reply.title', bodies.buttons, 21],
  ['interactive.body.text', bodies.list, 4097],
  ['interactive.action.button', bodies.list, 21],
  ['interactive.action.sections[0].title', bodies.list, 25],
  ['interactive.action.sections[0].rows[0].id', bodies.list, 201],
  ['interactive.action.sections[0].rows[0].title', bodies.list, 25],
  ['interactive.action.sections[0].rows[0].description', bodies.list, 73],
  ['interactive.header.image.link', bodies.link, 2049],
  ['interactive.action.parameters.display_text', bodies.link, 21],
  ['interactive.action.parameters.url', bodies.link, 2049],
  ['interactive.action.parameters.flow_id', bodies.flow, 257],
  ['interactive.action.parameters.flow_cta', bodies.flow, 31],
  ['interactive.action.parameters.flow_token', bodies.flow, 1025],
  ['interactive.action.parameters.mode', bodies.flow, 10],
  ['interactive.action.parameters.flow_action_payload.screen', bodies.flow, 257],
  ['location.name', bodies.location, 1001],
  ['location.address', bodies.location, 1001],
  ['contacts[0].name.formatted_name', bodies.contacts, 257],
  ['contacts[0].name.first_name', bodies.contacts, 257],
  ['contacts[0].phones[0].phone', bodies.contacts, 257],
  ['contacts[0].phones[0].wa_id', bodies.contacts, 21],
  ['contacts[0].urls[0].url', bodies.contacts, 2049],
  ['contacts[0].birthday', bodies.contacts, 11],
  ['reaction.emoji', bodies.reaction, 33],
  ['location.latitude', bodies.location, undefined],
  ['location.longitude', bodies.location, undefined],
  ['reaction.messageId', bodies.reaction, undefined],
]
/** Values that are wrong for a text, and right for these. */
const RIGHT: Record<string, unknown[]> = {
  'media.caption': [''],
  'media.filename': [''],
  'location.latitude': [7],
  'location.longitude': [7],
  'reaction.messageId': [7],
  'reaction.emoji': [null, ''],
}
const containers: [path: string, body: object][] = [
  ['template', bodies.template],
  ['template.components', bodies.template],
  ['template.components[0]', bodies.template],
  ['template.components[0].parameters', bodies.template],
  ['template.components[0].parameters[0]', bodies.template],
  ['media', bodies.media],
  ['interactive', bodies.buttons],
  ['interactive.body', bodies.buttons],
  ['interactive.action', bodies.buttons],
  ['interactive.action.buttons', bodies.buttons],
  ['interactive.action.buttons[0].reply', bodies.buttons],
  ['interactive.action.sections', bodies.list],
  ['interactive.action.parameters', bodies.flow],
  ['interactive.action.parameters.flow_action_payload', bodies.flow],
  ['location', bodies.location],
  ['contacts', bodies.contacts],
  ['contacts[0].name', bodies.contacts],
  ['contacts[0].phones', bodies.contacts],
  ['reaction', bodies.reaction],
]

const MISSING = Symbol('missing')
// Written into the text afterwards: no JSON writer makes them.
const LONE_SURROGATE = '__LONE__'
const NESTED = '__NESTED__'
const DEPTH = 10_000

/** The body as JSON text with one place replaced. */
function spoil(body: object, path: string, value: unknown): string {
  const copy = structuredClone(body) as Record<string, never>
  const steps = path.replaceAll(/\[([0-9]+)\]/g, '.$1').split('.')
  const last = steps.pop()!
  const holder = steps.reduce((place, step) => place[step]!, copy as Record<string, never>)
  if (value === MISSING) delete holder[last]
  else (holder as Record<string, unknown>)[last] = value
  return JSON.stringify(copy)
    .replaceAll(LONE_SURROGATE, '\\ud800')
    .replaceAll(`"${NESTED}"`, '['.repeat(DEPTH) + ']'.repeat(DEPTH))
}

async function expectRefusal(body: string, path: string): Promise<void> {
  const { status, text } = await post(body)
  expect([400, 404, 422], `${status} ${text}`).toContain(status)
  const root = path.replace(/\[.*$/, '').split('.')[0]!
  expect(text).toContain(root)
}

const wrongForText: [string, unknown][] = [
  ['null', null],
  ['a number', 7],
  ['a boolean', true],
  ['an array', ['x']],
  ['an object', { a: 1 }],
  ['empty', ''],
  ['NUL', 'a\0b'],
  ['a lone surrogate', `a${LONE_SURROGATE}b`],
  ['10,000 nested arrays', NESTED],
]

describe.each(fields)('%s', (path, body, tooLong) => {
  test.each([
    ...wrongForText,
    ['too long', 'x'.repeat(tooLong ?? 0)] as [string, unknown],
  ])('%s is refused by name', async (_, value) => {
    if (RIGHT[path]?.includes(value)) return
    await expectRefusal(spoil(body, path, value), path)
  })
})

describe.each(containers)('%s', (path, body) => {
  test.each([
    ['null', null],
    ['a text', 'x'],
    ['a number', 7],
    ['of the other kind', path.endsWith('s') ? { 0: {} } : [{}]],
    ['10,000 nested arrays', NESTED],
  ] as [string, unknown][])('%s is refused by name', async (_, value) => {
    await expectRefusal(spoil(body, path, value), path)
  })
})

describe('an absent required member answers 400 with its name', () => {
  test.each([
    ['type', bodies.text],
    ['text', bodies.text],
    ['template', bodies.template],
    ['media', bodies.media],
    ['template.components[0].type', bodies.template],
    ['template.components[0].parameters[0].type', bodies.template],
    ['interactive', bodies.buttons],
    ['interactive.body', bodies.buttons],
    ['interactive.action.buttons[0].reply.title', bodies.buttons],
    ['interactive.action.sections', bodies.list],
    ['interactive.action.parameters.url', bodies.link],
    ['interactive.action.parameters.flow_cta', bodies.flow],
    ['location.latitude', bodies.location],
    ['contacts[0].name', bodies.contacts],
    ['reaction.messageId', bodies.reaction],
    ['reaction.emoji', bodies.reaction],
  ] as [string, object][])('%s', async (path, body) => {
    const { status, text } = await post(spoil(body, path, MISSING))
    expect([status, text.includes(path)], text).toEqual([400, true])
  })
})

describe('bodies that are no request', () => {
  test.each([
    ['empty', '', 'application/json', 400],
    ['not JSON', '{', 'application/json', 400],
    ['an array', '[]', 'application/json', 400],
    ['null', 'null', 'application/json', 400],
    ['a text', '"x"', 'application/json', 400],
    [
      'a number beyond a double',
      '{"recipient":"393331234567","type":"text","text":"Hi","companyId":1e400}',
      'application/json',
      422,
    ],
    ['a form', 'recipient=39333', 'application/x-www-form-urlencoded', 400],
    ['no type', '{}', 'text/plain', 400],
    ['2 MB', `{"text":"${'x'.repeat(2_000_000)}"}`, 'application/json', 413],
  ])('%s', async (_, body, type, status) => {
    const answer = await post(body, { 'content-type': type })
    expect(answer.status, answer.text).toBe(status)
  })
})

test('nothing of all this was written', async () => {
  const [count] = await service.db`
    select
      (select count(*)::int from contacts) as contacts,
      (select count(*)::int from conversations) as conversations,
      (select count(*)::int from messages) as messages
  `
  expect(count).toEqual({ contacts: 0, conversations: 0, messages: 0 })
})
