import { type Static, Type } from 'typebox'
import { badRequest, type FieldFault, validationError } from '../errors.ts'
import type { GivenComponent } from '../templates/fill-components.ts'

const MEDIA_KINDS = ['image', 'video', 'audio', 'document', 'sticker'] as const
export type MediaKind = (typeof MEDIA_KINDS)[number]
const CAPTIONED: ReadonlySet<string> = new Set(['image', 'video', 'document'])

const RECIPIENT_PATTERN = '^(\\+?[1-9][0-9]{6,14}|[A-Z]{2}\\.[A-Za-z0-9.]{1,128})$'

const Parameter = Type.Object(
  {
    type: Type.String({ minLength: 1, maxLength: 64, description: '`text`; other kinds are passed to the provider' }),
    text: Type.Optional(Type.String({ minLength: 1, maxLength: 32_768 })),
    parameter_name: Type.Optional(
      Type.String({ minLength: 1, maxLength: 128, description: 'The named placeholder that it fills' }),
    ),
  },
  { additionalProperties: true },
)

const Component = Type.Object({
  type: Type.Enum(['HEADER', 'BODY', 'FOOTER', 'BUTTONS']),
  parameters: Type.Optional(Type.Array(Parameter, { maxItems: 100 })),
})

const TemplateContent = Type.Object({
  name: Type.Optional(Type.String({ minLength: 1, maxLength: 512 })),
  id: Type.Optional(Type.String({ minLength: 1, maxLength: 64, description: 'Family id from the template list' })),
  languageCode: Type.Optional(
    Type.String({ minLength: 1, maxLength: 16, description: '`en_US`, `en-US` and `en_us` are one language' }),
  ),
  components: Type.Optional(Type.Array(Component, { maxItems: 20 })),
})

const MediaContent = Type.Object({
  link: Type.Optional(Type.String({ maxLength: 2048, description: 'https address; the provider downloads it' })),
  providerMediaId: Type.Optional(Type.String({ minLength: 1, maxLength: 256 })),
  caption: Type.Optional(Type.String({ maxLength: 1024, description: 'Only on image, video and document' })),
  filename: Type.Optional(Type.String({ maxLength: 240, description: 'Only meaningful on a document' })),
})

export const SendBody = Type.Object({
  recipient: Type.String({
    pattern: RECIPIENT_PATTERN,
    description: 'Phone number in E.164, with or without +; or the user id of a customer who hides the phone',
    examples: ['393331234567'],
  }),
  type: Type.Enum(['text', 'template', ...MEDIA_KINDS]),
  text: Type.Optional(Type.String({ minLength: 1, maxLength: 4096 })),
  template: Type.Optional(TemplateContent),
  media: Type.Optional(MediaContent),
  sender: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 128,
      description: 'Connected number in any formatting, or its phone_number_id; absent: the preferred number',
    }),
  ),
  contactSource: Type.Optional(
    Type.String({ minLength: 1, maxLength: 64, description: 'Labels the contact if this send creates one' }),
  ),
  companyId: Type.Optional(Type.Unknown({ deprecated: true, description: 'Ignored' })),
})
export type SendBody = Static<typeof SendBody>

type SendFault = FieldFault & { readonly kind: 'shape' | 'value' }

export type MediaSource = { link: string } | { providerMediaId: string }

/** What is to be sent, free of combinations that make no sense. */
export type SendContent =
  | { type: 'text'; text: string }
  | {
      type: 'template'
      family: { id: string } | { name: string }
      languageCode: string | undefined
      components: readonly GivenComponent[]
    }
  | { type: MediaKind; source: MediaSource; caption: string | undefined; filename: string | undefined }

export type SendRequest = {
  /** Digits, or a provider's user id. */
  recipient: string
  content: SendContent
  sender: string | undefined
  contactSource: string
}

/**
 * Turns a body whose fields are each valid into a request (spec: send; decisions: WhatsApp send).
 * @throws {AppError} 400 `bad_request` when fields are absent or exclude each other, 422 when the link is not https
 */
export function parseSend(body: SendBody): SendRequest {
  const faults = sendFaults(body)
  const isShape = faults.some(({ kind }) => kind === 'shape')
  if (isShape) throw badRequest(faults.map(({ path, message }) => `${path} ${message}`).join('; '), toFields(faults))
  if (faults.length > 0) throw validationError(toFields(faults))
  return {
    recipient: body.recipient.replace('+', ''),
    content: contentOf(body),
    sender: body.sender,
    contactSource: body.contactSource ?? 'WhatsApp',
  }
}

function contentOf(body: SendBody): SendContent {
  if (body.type === 'text') return { type: 'text', text: body.text ?? '' }
  if (body.type === 'template') {
    const { id, name = '', languageCode, components = [] } = body.template ?? {}
    return { type: 'template', family: id === undefined ? { name } : { id }, languageCode, components }
  }
  const { link, providerMediaId = '', caption, filename } = body.media ?? {}
  return {
    type: body.type,
    source: link === undefined ? { providerMediaId } : { link },
    caption: caption === '' ? undefined : caption,
    filename: body.type === 'document' && filename !== '' ? filename : undefined,
  }
}

/**
 * What is wrong with a body, or the members that fit, beyond its shape: combinations, and a link that is not https. `given`:
 * the body as it came, whose members count as given although they do not fit.
 */
export function sendFaults(body: Partial<SendBody>, given: object = body): SendFault[] {
  const link = body.media?.link
  const isPlain = link !== undefined && !isHttps(link)
  return [
    ...combinationFaults(body, given),
    ...(isPlain ? [{ path: 'media.link', message: 'must be an https address', kind: 'value' as const }] : []),
  ]
}

const toFields = (faults: readonly SendFault[]): FieldFault[] => faults.map(({ path, message }) => ({ path, message }))

function combinationFaults(body: Partial<SendBody>, given: object): SendFault[] {
  if (body.type === undefined) return []
  const wanted = body.type === 'text' || body.type === 'template' ? body.type : 'media'
  const faults: SendFault[] = []
  const refuse = (path: string, message: string) => faults.push({ path, message, kind: 'shape' })

  if (!isGiven(given, wanted)) refuse(wanted, `is required when type is ${body.type}`)
  for (const other of ['text', 'template', 'media'] as const) {
    if (other !== wanted && isGiven(given, other)) refuse(other, `does not go with type ${body.type}`)
  }
  if (wanted === 'template' && body.template !== undefined) refuseUnlessOne(given, 'template', 'id', 'name', refuse)
  if (wanted === 'media' && body.media !== undefined) {
    refuseUnlessOne(given, 'media', 'link', 'providerMediaId', refuse)
    const isCaptioned = isGiven(given, 'media', 'caption')
    if (isCaptioned && !CAPTIONED.has(body.type)) refuse('media.caption', `does not go with ${body.type}`)
    if (isGiven(given, 'media', 'filename') && body.type === 'sticker') {
      refuse('media.filename', 'does not go with sticker')
    }
  }
  return faults
}

function refuseUnlessOne(
  given: object,
  path: string,
  one: string,
  other: string,
  refuse: (path: string, message: string) => void,
): void {
  if (isGiven(given, path, one) !== isGiven(given, path, other)) return
  const message = `exactly one of ${path}.${one} and ${path}.${other} must be given`
  refuse(`${path}.${one}`, message)
  refuse(`${path}.${other}`, message)
}

/** Whether a body has a member, whatever it holds. */
function isGiven(given: object, ...path: readonly string[]): boolean {
  let value: unknown = given
  for (const name of path) {
    value =
      typeof value === 'object' && value !== null ? Object.getOwnPropertyDescriptor(value, name)?.value : undefined
  }
  return value !== undefined
}

const isHttps = (link: string): boolean => /^https:\/\//i.test(link) && URL.canParse(link)
