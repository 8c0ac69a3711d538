import { beforeAll, describe, expect, test } from 'vitest'
import { sampleOf } from '../../sandbox/world/sample-media.ts'
import { PROVIDER_NAMES } from '../../src/providers/provider-names.ts'
import { SEND, startTransports } from '../providers/transports-world.ts'
import { startReceiver } from '../receiver.ts'
import { type Connected, picture, uploadWorld } from './upload-world.ts'

const transports = await startTransports()
const { service, connected } = transports
const { shown, uploaded, openWindow, takenBy, sentTo, recordOf } = uploadWorld(transports)
const { db, deps, control } = service

/** The bytes that the provider of the number has under an id. */
async function bytesAtProvider(company: Connected, mediaId: string): Promise<Buffer> {
  const sender = (await deps.senders.listFor(company.companyId))[0]!
  const fetched = await deps.providers[sender.provider]!.fetchMedia(sender, mediaId, new AbortController().signal)
  if (fetched.kind !== 'fetched') throw new Error(fetched.kind)
  return Buffer.concat(await fetched.body.toArray())
}

describe.each(PROVIDER_NAMES)('an uploaded file through %s', (provider) => {
  let company: Connected
  beforeAll(async () => {
    company = await connected(provider)
  })

  test('is sent by its mediaId, and shown from our own store', async () => {
    const bytes = picture()
    const mediaId = await uploaded(company, bytes)
    const sent = await sentTo(company, { type: 'image', media: { mediaId, caption: 'Size 42' } })
    expect(sent.body).toMatchObject({ type: 'image', image: { id: expect.any(String), caption: 'Size 42' } })
    expect(await bytesAtProvider(company, sent.body.image.id)).toEqual(bytes)
    const { media } = await recordOf(company, sent)
    expect(media).toMatchObject({ type: 'image/png' })
    expect(await shown(media)).toEqual(bytes)
    expect(await db`select from jobs where kind = 'media.copy' and subject_id = ${sent.messageId}`).toEqual([])
  })

  test('is given to the provider once, and works in a reply', async () => {
    const mediaId = await uploaded(company, picture())
    const first = await sentTo(company, { type: 'image', media: { mediaId } })
    const path = `/whatsapp/conversations/${first.chatId}/messages`
    const reply = await company.api('POST', path, { type: 'document', media: { mediaId, filename: 'shoe.png' } })
    expect(reply.status).toBe(200)
    expect((await takenBy(first.recipient)).document).toEqual({ id: first.body.image.id, filename: 'shoe.png' })
  })

  test('is the header of an interactive message', async () => {
    const bytes = picture()
    const mediaId = await uploaded(company, bytes)
    const interactive = {
      type: 'button',
      header: { type: 'image', image: { mediaId } },
      body: { text: 'This one?' },
      action: { buttons: [{ type: 'reply', reply: { id: 'yes', title: 'Yes' } }] },
    }
    const sent = await sentTo(company, { type: 'interactive', interactive })
    expect(await bytesAtProvider(company, sent.body.interactive.header.image.id)).toEqual(bytes)
    const record = await recordOf(company, sent)
    expect(record.content).toEqual({ type: 'interactive', interactive })
    expect(await shown(record.media)).toEqual(bytes)
  })

  test('is the header of a template', async () => {
    const { wabaAccountId } = company
    const components = [
      { type: 'HEADER', format: 'DOCUMENT' },
      { type: 'BODY', text: 'Your invoice {{1}}' },
    ]
    const template = { wabaAccountId, name: 'invoice', language: 'it', category: 'UTILITY', components }
    await control('POST', '/templates', template)
    await service.operator('POST', `/companies/${company.companyId}/templates/sync`)
    const bytes = sampleOf('application/pdf').bytes
    const mediaId = await uploaded(company, bytes, '?filename=1042.pdf')
    const filling = [
      { type: 'HEADER', parameters: [{ type: 'document', document: { mediaId, filename: 'Invoice 1042.pdf' } }] },
      { type: 'BODY', parameters: [{ type: 'text', text: '1042' }] },
    ]
    const sent = await sentTo(company, { type: 'template', template: { name: 'invoice', components: filling } })
    const { document } = sent.body.template.components[0].parameters[0]
    expect(document).toEqual({ id: expect.any(String), filename: 'Invoice 1042.pdf' })
    expect(await bytesAtProvider(company, document.id)).toEqual(bytes)
    const { media } = await recordOf(company, sent)
    expect(media).toMatchObject({ type: 'application/pdf', filename: 'Invoice 1042.pdf' })
    expect(await shown(media)).toEqual(bytes)
  })

  test('that the provider refuses is refused with its reason, and nothing is sent', async () => {
    const mediaId = await uploaded(company, picture())
    const recipient = await openWindow(company)
    await control('PUT', '/behaviour', { refuseWithCode: 131053 })
    const refused = await company.api('POST', SEND, { recipient, type: 'image', media: { mediaId } })
    await control('PUT', '/behaviour', { refuseWithCode: null })
    expect([refused.status, refused.body.error.code]).toEqual([422, 'validation_error'])
    const [field] = refused.body.error.details.fields
    expect(field).toEqual({ path: 'media.mediaId', message: expect.stringContaining('Media upload error') })
    expect((await company.api('POST', SEND, { recipient, type: 'image', media: { mediaId } })).status).toBe(200)
  })

  test('that the provider takes later is answered 429 with the time to wait, and nothing is sent', async () => {
    const company = await connected(provider)
    const mediaId = await uploaded(company, picture())
    const recipient = await openWindow(company)
    const busy = await startReceiver((_, response) => response.writeHead(429, { 'retry-after': '7' }).end('Slower'))
    await service.operator('PATCH', `${company.path}/${company.sender.channelId}`, {
      apiBaseUrl: busy.url.slice(0, -1),
    })
    const refused = await company.api('POST', SEND, { recipient, type: 'image', media: { mediaId } })
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '7'])
    expect(busy.received.map(({ url }) => url)).toEqual([expect.stringMatching(/media$/)])
  })
})
