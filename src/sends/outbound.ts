import type { StructuredContent } from '../conversations/content/structured-content.ts'
import type { ProvidedFile } from '../media/uploads/provide-upload.ts'
import type { OutboundContent } from '../providers/provider.ts'
import { type ComponentInput, fillComponents, renderBody } from '../templates/fill-components.ts'
import type { Template } from '../templates/template.ts'
import type { QuotedMessage } from './replies/quoted-message.ts'
import type { SendContent } from './send-request.ts'
import { documentNameIn, toProviderComponents, toProviderInteractive } from './sent-file.ts'

export type Outbound = {
  type: 'text' | 'image' | 'video' | 'audio' | 'document'
  text: string | null
  media: OutboundMedia | null
  structured: StructuredContent | null
  content: OutboundContent
}

type OutboundMedia = {
  kind: string
  link: string | null
  providerMediaId: string | null
  uploadId?: string
  mimeType?: string
  filename: string | null
  voice?: boolean
}

type Media = Extract<SendContent, { source: unknown }>

const REACTION_REMOVED = '[reaction removed]'

export function composePlain(
  content: Exclude<SendContent, { type: 'template' }>,
  quoted: QuotedMessage | undefined,
  file?: ProvidedFile,
): Outbound {
  switch (content.type) {
    case 'text':
      return { ...PLAIN, text: content.text, content }
    case 'interactive': {
      const { type, interactive } = content
      const value = toProviderInteractive(interactive, file)
      const { header } = { header: undefined, ...interactive }
      const media = file === undefined ? null : toMedia(file, documentNameIn(header))
      return { ...PLAIN, media, text: interactive.body.text, structured: content, content: { type, value } }
    }
    case 'location': {
      const { type, location } = content
      return { ...PLAIN, text: location.name ?? `[${type}]`, structured: content, content: { type, value: location } }
    }
    case 'contacts': {
      const { type, contacts } = content
      const structured = { type, contacts: [...contacts] }
      return { ...PLAIN, text: `[${type}]`, structured, content: { type, value: contacts } }
    }
    case 'reaction': {
      const { type, reaction } = content
      const emoji = reaction.emoji || null
      const structured = { type, reaction: { messageId: reaction.messageId, emoji } }
      const sent = { type, targetWamid: quoted?.wamid ?? '', emoji }
      return { ...PLAIN, text: emoji ?? REACTION_REMOVED, structured, content: sent }
    }
    default:
      return composeMedia(content, file)
  }
}

const PLAIN = { type: 'text', media: null, structured: null } as const

function composeMedia({ source, ...content }: Media, file: ProvidedFile | undefined): Outbound {
  const { type, caption } = content
  const note = content.isVoice ? { voice: true } : {}
  const filename = content.filename ?? (type === 'document' ? (file?.filename ?? undefined) : undefined)
  const shown = { type: type === 'sticker' ? 'image' : type, text: caption ?? `[${type}]`, structured: null } as const
  if ('mediaId' in source) {
    if (file === undefined) throw new Error('A file that was not provided cannot be sent')
    const sent = { ...content, filename, source: { providerMediaId: file.providerMediaId } }
    return { ...shown, media: { ...toMedia(file, filename ?? null), ...note, kind: type }, content: sent }
  }
  const { link = null, providerMediaId = null } = { link: undefined, providerMediaId: undefined, ...source }
  const media = { kind: type, link, providerMediaId, filename: filename ?? null, ...note }
  return { ...shown, media, content: { ...content, source } }
}

const toMedia = ({ mediaId, kind, mimeType, filename }: ProvidedFile, given: string | null): OutboundMedia => ({
  kind,
  link: null,
  providerMediaId: null,
  uploadId: mediaId,
  mimeType,
  filename: given ?? filename,
})

/** Composes a template message; 422 `parameter_mismatch`. */
export function composeTemplate(
  template: Template,
  parameters: readonly ComponentInput[],
  file?: ProvidedFile,
): Outbound {
  const header = parameters.find(({ type }) => type === 'HEADER')?.parameters?.[0]
  return {
    ...PLAIN,
    media: file === undefined ? null : toMedia(file, documentNameIn(header)),
    text: renderBody(template, parameters) ?? `[${template.name}]`,
    content: {
      type: 'template',
      name: template.name,
      language: template.language,
      components: fillComponents(template, toProviderComponents(parameters, file)),
    },
  }
}
