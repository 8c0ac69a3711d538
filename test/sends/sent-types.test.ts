import { describe, expect, test } from 'vitest'
import { uniquePhone } from '../service.ts'
import { startSends } from './send-world.ts'

const { service, company, send, openWindow, receivedBy, rowOf } = await startSends()

describe('every type reaches the provider with the body that it wants', () => {
  const link = 'https://example.com/file'
  const contents: [string, object, object][] = [
    ['text', { type: 'text', text: 'Ciao' }, { type: 'text', text: { body: 'Ciao', preview_url: false } }],
    [
      'image',
      { type: 'image', media: { link, caption: 'Look', filename: 'ignored.jpg' } },
      { type: 'image', image: { link, caption: 'Look' } },
    ],
    ['video', { type: 'video', media: { link } }, { type: 'video', video: { link } }],
    ['audio', { type: 'audio', media: { link } }, { type: 'audio', audio: { link } }],
    [
      'document',
      { type: 'document', media: { link, caption: 'Offer', filename: 'offer.pdf' } },
      { type: 'document', document: { link, caption: 'Offer', filename: 'offer.pdf' } },
    ],
    ['sticker', { type: 'sticker', media: { link } }, { type: 'sticker', sticker: { link } }],
  ]
  test.each(contents)('%s', async (_, content, expected) => {
    const recipient = await openWindow(uniquePhone())
    const { status, body } = await send({ recipient, ...content })
    expect([status, body]).toEqual([
      200,
      {
        success: true,
        data: {
          success: true,
          chatId: expect.any(Number),
          messageId: expect.any(Number),
          wamid: expect.stringMatching(/^wamid\./),
        },
      },
    ])
    expect(await receivedBy(body.data.wamid)).toEqual({
      messaging_product: 'whatsapp',
      recipient_type: 'individual',
      to: recipient,
      ...expected,
      biz_opaque_callback_data: String(body.data.messageId),
    })
    expect(await rowOf(body.data.messageId)).toMatchObject({ status: 'sent', wamid: body.data.wamid })
  })

  test('a media id of the number is sent as it is; one that the number did not upload is refused', async () => {
    const recipient = await openWindow(uniquePhone())
    const providerMediaId = await service.uploadMedia(company.phoneNumberId)
    const { body } = await send({ recipient, type: 'sticker', media: { providerMediaId } })
    expect((await receivedBy(body.data.wamid)).sticker).toEqual({ id: providerMediaId })
    const refused = await send({ recipient, type: 'sticker', media: { providerMediaId: '42' } })
    expect([refused.status, refused.text]).toEqual([400, expect.stringContaining('Invalid parameter')])
  })

  test('media that the provider holds are noted for copying with the outcome, media behind a link are not', async () => {
    const recipient = await openWindow(uniquePhone())
    const noted = async (media: object) => {
      const { body } = await send({ recipient, type: 'image', media })
      return service.db`
        select provider_media_id from media
        where (company_id, message_id) = (${company.companyId}, ${body.data.messageId})
      `
    }
    const providerMediaId = await service.uploadMedia(company.phoneNumberId)
    expect(await noted({ providerMediaId })).toEqual([{ providerMediaId }])
    expect(await noted({ link })).toEqual([])
  })

  const text = (value: string) => ({ type: 'text', text: value })
  const templates: [string, object, object][] = [
    [
      'a positional template, by name and language',
      {
        name: 'order_update',
        languageCode: 'it',
        components: [{ type: 'BODY', parameters: [text('Ada'), text('A-1')] }],
      },
      {
        name: 'order_update',
        language: { code: 'it' },
        components: [{ type: 'body', parameters: [text('Ada'), text('A-1')] }],
      },
    ],
    [
      'a static template, without components',
      { name: 'shipping_notice' },
      { name: 'shipping_notice', language: { code: 'en_US' } },
    ],
    [
      'a template with header and buttons',
      {
        name: 'order_ready',
        components: [
          { type: 'HEADER', parameters: [{ type: 'image', image: { link: 'https://example.com/a.jpg' } }] },
          { type: 'BODY', parameters: [text('Ada'), text('A-1')] },
          { type: 'BUTTONS', parameters: [text('A-1')] },
        ],
      },
      {
        name: 'order_ready',
        language: { code: 'en_US' },
        components: [
          { type: 'header', parameters: [{ type: 'image', image: { link: 'https://example.com/a.jpg' } }] },
          { type: 'body', parameters: [text('Ada'), text('A-1')] },
          { type: 'button', sub_type: 'url', index: '1', parameters: [text('A-1')] },
        ],
      },
    ],
  ]
  test.each(templates)('%s, with no window open', async (_, template, expected) => {
    const { status, body } = await send({ recipient: uniquePhone(), type: 'template', template })
    expect([status, body.error]).toEqual([200, undefined])
    expect((await receivedBy(body.data.wamid)).template).toEqual(expected)
  })

  test('a named template, its names filled in by order, inside the window', async () => {
    const recipient = await openWindow(uniquePhone())
    const template = {
      name: 'welcome_offer',
      components: [{ type: 'BODY', parameters: [text('Ada'), text('SAVE10')] }],
    }
    const { body } = await send({ recipient, type: 'template', template })
    expect((await receivedBy(body.data.wamid)).template.components[0].parameters).toEqual([
      { ...text('Ada'), parameter_name: 'first_name' },
      { ...text('SAVE10'), parameter_name: 'code' },
    ])
  })

  test('a customer who hides the phone is addressed by user id', async () => {
    const { status, body } = await send({
      recipient: 'US.13491208655302741918',
      type: 'template',
      template: { name: 'shipping_notice' },
    })
    expect(status).toBe(200)
    const sent = await receivedBy(body.data.wamid)
    expect([sent.recipient, sent.to]).toEqual(['US.13491208655302741918', undefined])
  })

  test('a template is found by its family id as well', async () => {
    const { body: list } = await company.api('GET', '/templates/whatsapp')
    const family = list.data.find((template: { name: string }) => template.name === 'shipping_notice')
    const { status } = await send({ recipient: uniquePhone(), type: 'template', template: { id: family.id } })
    expect(status).toBe(200)
  })
})
