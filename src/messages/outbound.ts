import type { StructuredContent } from '../conversations/content/structured-content.ts'
import type { OutboundContent } from '../providers/provider.ts'
import { type ComponentInput, fillComponents, renderBody } from '../templates/fill-components.ts'
import type { Template } from '../templates/template.ts'
import type { QuotedMessage } from './quoted-message.ts'
import type { SendContent } from './send-request.ts'

/** A message as the conversation shows it, and its content for the provider. */
export type Outbound = {
  type: 'text' | 'image' | 'video' | 'audio' | 'document'
  text: string | null
  media: OutboundMedia | null
  structured: StructuredContent | null
  content: OutboundContent
}

export type OutboundMedia = {
  kind: string
  link: string | null
  providerMediaId: string | null
  filename: string | null
}

type Media = Extract<SendContent, { source: unknown }>

const REACTION_REMOVED = '[reaction removed]'

/** Composes a message without a template. `quoted`: the message that it names. */
export function composePlain(
  content: Exclude<SendContent, { type: 'template' }>,
  quoted: QuotedMessage | undefined,
): Outbound {
  switch (content.type) {
    case 'text':
      return { ...PLAIN, text: content.text, content }
    case 'interactive': {
      const { type, interactive } = content
      return { ...PLAIN, text: interactive.body.text, structured: content, content: { type, value: interactive } }
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
      return composeMedia(content)
  }
}

const PLAIN = { type: 'text', media: null, structured: null } as const

function composeMedia(content: Media): Outbound {
  const { type, source, caption, filename } = content
  const isLink = 'link' in source
  return {
    type: type === 'sticker' ? 'image' : type,
    text: caption ?? `[${type}]`,
    media: {
      kind: type,
      link: isLink ? source.link : null,
      providerMediaId: isLink ? null : source.providerMediaId,
      filename: filename ?? null,
    },
    structured: null,
    content,
  }
}

/**
 * Composes a template message from its approved version.
 * @throws {AppError} 422 `parameter_mismatch`
 */
export function composeTemplate(template: Template, parameters: readonly ComponentInput[]): Outbound {
  return {
    ...PLAIN,
    text: renderBody(template, parameters) ?? `[${template.name}]`,
    content: {
      type: 'template',
      name: template.name,
      language: template.language,
      components: fillComponents(template, parameters),
    },
  }
}
