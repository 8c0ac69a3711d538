import { describe, expect, test } from 'vitest'
import { parseSend } from './send-request.ts'
import type { SendBody } from './send-shape.ts'

const refusal = (body: object) => {
  try {
    parseSend({ recipient: '393331234567', ...body } as SendBody)
  } catch (error) {
    const { status, body: answer } = error as {
      status: number
      body: { error: { details: { fields: { path: string }[] } } }
    }
    return { status, paths: answer.error.details.fields.map(({ path }) => path) }
  }
  return undefined
}

const link = 'https://example.com/a.jpg'

describe('fields that are absent or exclude each other answer 400 with their names', () => {
  test.each([
    [{ type: 'text' }, ['text']],
    [{ type: 'template' }, ['template']],
    [{ type: 'image' }, ['media']],
    [{ type: 'text', text: 'Hi', media: { link } }, ['media']],
    [{ type: 'text', text: 'Hi', template: { name: 'a' } }, ['template']],
    [{ type: 'image', media: { link }, template: { name: 'a' } }, ['template']],
    [{ type: 'image', media: { link }, text: 'Hi' }, ['text']],
    [{ type: 'template', template: { name: 'a' }, text: 'Hi' }, ['text']],
    [{ type: 'template', template: { name: 'a', id: 'tmpl_1' } }, ['template.id', 'template.name']],
    [{ type: 'template', template: {} }, ['template.id', 'template.name']],
    [
      { type: 'image', media: { link, providerMediaId: '1' } },
      ['media.link', 'media.providerMediaId', 'media.mediaId'],
    ],
    [{ type: 'image', media: { link, mediaId: 'med_1' } }, ['media.link', 'media.providerMediaId', 'media.mediaId']],
    [{ type: 'image', media: { caption: 'Hi' } }, ['media.link', 'media.providerMediaId', 'media.mediaId']],
    [{ type: 'audio', media: { link, caption: 'Hi' } }, ['media.caption']],
    [{ type: 'sticker', media: { link, caption: 'Hi' } }, ['media.caption']],
    [{ type: 'sticker', media: { link, filename: 'a.webp' } }, ['media.filename']],
    [{ type: 'interactive' }, ['interactive']],
    [{ type: 'location', text: 'Hi', location: { latitude: 1, longitude: 2 } }, ['text']],
    [{ type: 'contacts', location: { latitude: 1, longitude: 2 } }, ['contacts', 'location']],
    [{ type: 'reaction', reaction: { messageId: 7, emoji: null }, quoted: 7 }, ['quoted']],
    [{ type: 'location', location: { latitude: 1, longitude: 2 }, previewUrl: true }, ['previewUrl']],
  ])('%j', (body, paths) => {
    expect(refusal(body)).toEqual({ status: 400, paths })
  })
})

test.each([
  'http://example.com/a.jpg',
  'ftp://example.com',
  'example.com/a.jpg',
  'https://',
  'data:image/png;base64,AA',
])('the link %s is not https: 422', (address) => {
  expect(refusal({ type: 'image', media: { link: address } })).toEqual({ status: 422, paths: ['media.link'] })
})

const rows = (count: number, from = 0) =>
  Array.from({ length: count }, (_, row) => ({ id: String(from + row), title: 'Row' }))
const list = (...sections: object[]) => ({
  type: 'interactive',
  interactive: { type: 'list', body: { text: 'When?' }, action: { button: 'Open', sections } },
})
const buttons = (...replies: object[]) => ({
  type: 'interactive',
  interactive: {
    type: 'button',
    body: { text: 'Ok?' },
    action: { buttons: replies.map((reply) => ({ type: 'reply', reply })) },
  },
})
const flow = (data: object) => ({
  type: 'interactive',
  interactive: {
    type: 'flow',
    body: { text: 'Book' },
    action: { name: 'flow', parameters: { flow_id: '1', flow_action_payload: { screen: 'A', data } } },
  },
})
const SECTIONS = 'interactive.action.sections'

describe('values that do not fit each other answer 422 with their names', () => {
  test.each<[string, object, string[]]>([
    [
      'two buttons with one id',
      buttons({ id: 'a', title: 'Yes' }, { id: 'a', title: 'No' }),
      ['interactive.action.buttons[1].reply.id'],
    ],
    [
      'two buttons with one title',
      buttons({ id: 'a', title: 'Yes' }, { id: 'b', title: 'No' }, { id: 'c', title: 'Yes' }),
      ['interactive.action.buttons[2].reply.title'],
    ],
    ['eleven rows in all', list({ title: 'A', rows: rows(6) }, { title: 'B', rows: rows(5, 6) }), [SECTIONS]],
    [
      'two rows with one id',
      list({ title: 'A', rows: rows(2) }, { title: 'B', rows: rows(1, 1) }),
      [`${SECTIONS}[1].rows[0].id`],
    ],
    [
      'several sections without titles',
      list({ rows: rows(1) }, { title: 'B', rows: rows(1, 1) }),
      [`${SECTIONS}[0].title`],
    ],
    [
      'input of a flow that is too long',
      flow({ day: 'x'.repeat(32_768) }),
      ['interactive.action.parameters.flow_action_payload.data'],
    ],
    [
      'a whole name without parts',
      {
        type: 'contacts',
        contacts: [{ name: { formatted_name: 'Ada', last_name: 'R' } }, { name: { formatted_name: 'Bo' } }],
      },
      ['contacts[1].name'],
    ],
    ...['ok', '👍👍', '1', ' 👍', 'x👍'].map((emoji): [string, object, string[]] => [
      `${emoji} for an emoji`,
      { type: 'reaction', reaction: { messageId: 7, emoji } },
      ['reaction.emoji'],
    ]),
  ])('%s', (_, body, paths) => {
    expect(refusal(body)).toEqual({ status: 422, paths })
  })

  test('ten rows, one section without a title, and emoji of every make are admitted', () => {
    expect(refusal(list({ rows: rows(10) }))).toBeUndefined()
    for (const emoji of ['👍', '👍🏽', '❤️', '❤', '👩‍👩‍👧', '🇮🇹', '1️⃣', '', null]) {
      expect([emoji, refusal({ type: 'reaction', reaction: { messageId: 7, emoji } })]).toEqual([emoji, undefined])
    }
  })
})

describe('accepted requests', () => {
  const parse = (body: object) => parseSend({ recipient: '+393331234567', ...body } as SendBody)

  test('a text, without the plus of the recipient', () => {
    expect(parse({ type: 'text', text: 'Hi', companyId: 7 })).toEqual({
      recipient: '393331234567',
      content: { type: 'text', text: 'Hi' },
      sender: undefined,
      conversationId: null,
      contactSource: 'WhatsApp',
      directSend: null,
    })
  })

  test('a document keeps its filename, an image ignores it', () => {
    const media = { link, filename: 'offer.pdf', caption: 'Offer' }
    expect(parse({ type: 'document', media }).content).toMatchObject({ filename: 'offer.pdf', caption: 'Offer' })
    expect(parse({ type: 'image', media }).content).toMatchObject({ filename: undefined, caption: 'Offer' })
  })

  test('media by id', () => {
    expect(parse({ type: 'sticker', media: { providerMediaId: '42' } }).content).toMatchObject({
      source: { providerMediaId: '42' },
    })
  })
})
