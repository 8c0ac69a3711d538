import { USER_ID } from '../phone.ts'
import { fillComponents, type GivenComponent, renderBody } from '../templates/fill-components.ts'
import type { Template } from '../templates/template.ts'
import type { SendContent } from './send-request.ts'

/** A message ready to go: what the conversation shows and what the provider gets. */
export type Outbound = {
  type: 'text' | 'image' | 'video' | 'audio' | 'document'
  text: string | null
  media: OutboundMedia | null
  /** The member of the provider's body that carries the content, named by `providerType`. */
  providerType: string
  providerContent: object
}

export type OutboundMedia = {
  kind: string
  link: string | null
  providerMediaId: string | null
  filename: string | null
}

/** Composes a text or media message. */
export function composePlain(content: Exclude<SendContent, { type: 'template' }>): Outbound {
  if (content.type === 'text') {
    const body = { body: content.text, preview_url: false }
    return { type: 'text', text: content.text, media: null, providerType: 'text', providerContent: body }
  }
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
    providerType: type,
    providerContent: {
      ...(isLink ? { link: source.link } : { id: source.providerMediaId }),
      ...(caption !== undefined && { caption }),
      ...(filename !== undefined && { filename }),
    },
  }
}

/**
 * Composes a template message from its approved version.
 * @throws {AppError} 422 `parameter_mismatch`
 */
export function composeTemplate(template: Template, given: readonly GivenComponent[]): Outbound {
  const components = fillComponents(template, given)
  return {
    type: 'text',
    text: renderBody(template, given) ?? `[${template.name}]`,
    media: null,
    providerType: 'template',
    providerContent: {
      name: template.name,
      language: { code: template.language },
      ...(components.length > 0 && { components }),
    },
  }
}

/** The body for the provider. Our message id travels with it and comes back with every status. */
export function toProviderBody(recipient: string, outbound: Outbound, messageId: number): string {
  return JSON.stringify({
    messaging_product: 'whatsapp',
    recipient_type: 'individual',
    ...(USER_ID.test(recipient) ? { recipient } : { to: recipient }),
    type: outbound.providerType,
    [outbound.providerType]: outbound.providerContent,
    biz_opaque_callback_data: String(messageId),
  })
}
