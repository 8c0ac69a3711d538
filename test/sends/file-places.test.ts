import { Readable } from 'node:stream'
import { beforeAll, describe, expect, test } from 'vitest'
import { sampleOf } from '../../sandbox/world/sample-media.ts'
import { PROVIDER_NAMES } from '../../src/providers/provider-names.ts'
import { SEND, startTransports } from '../providers/transports-world.ts'
import { type Connected, uploadWorld } from './upload-world.ts'

const transports = await startTransports()
const { control, operator, deps } = transports.service
const { uploaded, openWindow, sentTo, recordOf } = uploadWorld(transports)

const SAMPLES = {
  image: 'image/png',
  video: 'video/mp4',
  audio: 'audio/ogg',
  document: 'application/pdf',
  sticker: 'image/webp',
} as const
type Kind = keyof typeof SAMPLES

const HEADER_KINDS = ['image', 'video', 'document'] as const
type HeaderKind = (typeof HEADER_KINDS)[number]
type Source = 'link' | 'id' | 'mediaId'

const LINK = 'https://cdn.example.com/file'

/** Each place of a file: what a caller writes there, and where the provider finds it. */
const PLACES: {
  place: string
  kinds: readonly Kind[]
  /** The name of the provider's id at this place. */
  id: string
  body(kind: Kind, file: object): object
  wire(body: Wire, kind: Kind): unknown
}[] = [
  {
    place: 'message',
    kinds: ['image', 'video', 'audio', 'document', 'sticker'],
    id: 'providerMediaId',
    body: (type, media) => ({ type, media }),
    wire: (body, kind) => body[kind],
  },
  {
    place: 'template header',
    kinds: HEADER_KINDS,
    id: 'id',
    body: (type, file) => ({
      type: 'template',
      template: {
        name: `with_${type}`,
        components: [{ type: 'HEADER', parameters: [{ type, [type]: file }] }],
      },
    }),
    wire: (body, kind) => body.template.components[0].parameters[0][kind],
  },
  {
    place: 'interactive header',
    kinds: HEADER_KINDS,
    id: 'id',
    body: (type, file) => ({
      type: 'interactive',
      interactive: {
        type: 'button',
        header: { type, [type]: file },
        body: { text: 'This one?' },
        action: { buttons: [{ type: 'reply', reply: { id: 'yes', title: 'Yes' } }] },
      },
    }),
    wire: (body, kind) => body.interactive.header[kind],
  },
]
// biome-ignore lint/suspicious/noExplicitAny: the JSON of a provider
type Wire = any

const SOURCES: readonly Source[] = ['link', 'id', 'mediaId']
const TABLE = PLACES.flatMap((place) =>
  place.kinds.flatMap((kind) => SOURCES.map((source) => ({ ...place, kind, source }))),
)
const NAMED = TABLE.filter(({ kind }) => kind === 'document')

describe.each(PROVIDER_NAMES)('a file through %s', (provider) => {
  let company: Connected
  const files = new Map<string, string>()
  const ids = new Map<string, string>()
  beforeAll(async () => {
    company = await transports.connected(provider)
    const { wabaAccountId, companyId } = company
    for (const kind of HEADER_KINDS) await control('POST', '/templates', { ...templateOf(kind), wabaAccountId })
    await operator('POST', `/companies/${companyId}/templates/sync`)
    // At most four uploads of a company may arrive at the same time.
    for (const [kind, sample] of Object.entries(SAMPLES)) {
      const { bytes } = sampleOf(sample)
      files.set(kind, await uploaded(company, bytes, `?filename=${kind}.file`))
      ids.set(kind, await atProvider(bytes, sample))
    }
  })

  async function atProvider(bytes: Buffer, mimeType: string): Promise<string> {
    const [sender] = await deps.senders.listFor(company.companyId)
    const file = { body: Readable.from([bytes]), sizeBytes: bytes.length, mimeType }
    const stored = await deps.providers[provider]!.uploadMedia(sender!, file)
    if (stored.kind !== 'fetched') throw new Error(JSON.stringify(stored))
    return stored.value
  }
  const fileOf = (kind: Kind, source: Source, id: string): object =>
    ({ link: { link: LINK }, id: { [id]: ids.get(kind) }, mediaId: { mediaId: files.get(kind) } })[source]
  const onWire = (kind: Kind, source: Source): object =>
    ({ link: { link: LINK }, id: { id: ids.get(kind) }, mediaId: { id: expect.any(String) } })[source]

  test.each(TABLE)('$kind in a $place by $source', async ({ kind, source, id, body, wire }) => {
    const sent = await sentTo(company, body(kind, fileOf(kind, source, id)))
    const name = kind === 'document' && source === 'mediaId' ? { filename: 'document.file' } : {}
    expect(wire(sent.body, kind)).toEqual({ ...onWire(kind, source), ...name })
  })

  test.each(NAMED)('the given name of a document in a $place by $source', async ({ kind, source, id, body, wire }) => {
    const sent = await sentTo(company, body(kind, { ...fileOf(kind, source, id), filename: 'Invoice 7.pdf' }))
    expect(wire(sent.body, kind)).toEqual({ ...onWire('document', source), filename: 'Invoice 7.pdf' })
  })

  test.each(SOURCES)('a voice note by %s', async (source) => {
    const media = { ...fileOf('audio', source, 'providerMediaId'), voice: true }
    const sent = await sentTo(company, { type: 'audio', media })
    expect(sent.body.audio).toEqual({ ...onWire('audio', source), voice: true })
    const record = await recordOf(company, sent)
    expect(record.media).toMatchObject({ voice: true })
  })

  test('a sent audio that is no voice note', async () => {
    const sent = await sentTo(company, { type: 'audio', media: { link: LINK, voice: false } })
    const record = await recordOf(company, sent)
    expect(record.media).toMatchObject({ voice: false })
  })

  test('a FLOW button without parameters', async () => {
    const { wabaAccountId, companyId } = company
    const components = [
      { type: 'BODY', text: 'Fill {{1}}' },
      { type: 'BUTTONS', buttons: [{ type: 'FLOW', text: 'Book', flow_id: '1' }] },
    ]
    await control('POST', '/templates', {
      wabaAccountId,
      name: 'flow',
      language: 'it',
      category: 'UTILITY',
      components,
    })
    await operator('POST', `/companies/${companyId}/templates/sync`)
    const filling = [{ type: 'BODY', parameters: [{ type: 'text', text: 'x' }] }]
    const sent = await sentTo(company, { type: 'template', template: { name: 'flow', components: filling } })
    expect(sent.body.template.components[1]).toEqual({ type: 'button', sub_type: 'flow', index: '0' })
  })

  test.each([
    ['a video', { type: 'video', media: { link: LINK, voice: true } }, 'media.voice'],
    ['another ending', { type: 'audio', media: { link: `${LINK}.mp3`, voice: true } }, 'media.link'],
  ])('a voice note of %s is refused', async (_name, content, path) => {
    const { status, body } = await company.api('POST', SEND, { recipient: await openWindow(company), ...content })
    expect([status, body.error.details.fields[0].path]).toEqual([422, path])
  })

  test('a voice note of an uploaded MP3 is refused', async () => {
    const mp3 = Buffer.concat([
      Buffer.from('ID3\u0004\0\0\0\0\0\0', 'latin1'),
      Buffer.from([0xff, 0xfb, 0x90, 0x64]),
      Buffer.alloc(600),
    ])
    const mediaId = await uploaded(company, mp3)
    const recipient = await openWindow(company)
    const { status, body } = await company.api('POST', SEND, {
      recipient,
      type: 'audio',
      media: { mediaId, voice: true },
    })
    expect([status, body.error.details.fields[0]]).toEqual([
      422,
      { path: 'media.mediaId', message: expect.stringContaining('a voice note is audio/ogg; codecs=opus') },
    ])
  })
})

const templateOf = (kind: HeaderKind) => ({
  name: `with_${kind}`,
  language: 'it',
  category: 'UTILITY',
  components: [
    { type: 'HEADER', format: kind.toUpperCase() },
    { type: 'BODY', text: 'Here it is' },
  ],
})
