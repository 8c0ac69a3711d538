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
    [{ type: 'image', media: { link, providerMediaId: '1' } }, ['media.link', 'media.providerMediaId']],
    [{ type: 'image', media: { caption: 'Hi' } }, ['media.link', 'media.providerMediaId']],
    [{ type: 'audio', media: { link, caption: 'Hi' } }, ['media.caption']],
    [{ type: 'sticker', media: { link, caption: 'Hi' } }, ['media.caption']],
    [{ type: 'sticker', media: { link, filename: 'a.webp' } }, ['media.filename']],
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

describe('accepted requests', () => {
  const parse = (body: object) => parseSend({ recipient: '+393331234567', ...body } as SendBody)

  test('a text, without the plus of the recipient', () => {
    expect(parse({ type: 'text', text: 'Hi', companyId: 7 })).toEqual({
      recipient: '393331234567',
      content: { type: 'text', text: 'Hi' },
      sender: undefined,
      conversationId: null,
      contactSource: 'WhatsApp',
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
