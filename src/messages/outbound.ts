import type { OutboundContent } from '../providers/provider.ts'
import { type ComponentInput, fillComponents, renderBody } from '../templates/fill-components.ts'
import type { Template } from '../templates/template.ts'
import type { SendContent } from './send-request.ts'

/** A message as the conversation shows it, and its content for the provider. */
export type Outbound = {
  type: 'text' | 'image' | 'video' | 'audio' | 'document'
  text: string | null
  media: OutboundMedia | null
  content: OutboundContent
}

export type OutboundMedia = {
  kind: string
  link: string | null
  providerMediaId: string | null
  filename: string | null
}

/** Composes a text or media message. */
export function composePlain(content: Exclude<SendContent, { type: 'template' }>): Outbound {
  if (content.type === 'text') return { type: 'text', text: content.text, media: null, content }
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
    content,
  }
}

/**
 * Composes a template message from its approved version.
 * @throws {AppError} 422 `parameter_mismatch`
 */
export function composeTemplate(template: Template, parameters: readonly ComponentInput[]): Outbound {
  return {
    type: 'text',
    text: renderBody(template, parameters) ?? `[${template.name}]`,
    media: null,
    content: {
      type: 'template',
      name: template.name,
      language: template.language,
      components: fillComponents(template, parameters),
    },
  }
}
