import { USER_ID } from '../platform/text/phone.ts'
import type { OutboundContent, OutboundMessage } from './provider.ts'

/** Builds a send body in Meta's Cloud API format, which other providers accept too. */
export function toGraphMessage(message: OutboundMessage): string {
  const { recipient, content, reference, quotedWamid, directSend } = message
  return JSON.stringify({
    messaging_product: 'whatsapp',
    recipient_type: 'individual',
    ...(USER_ID.test(recipient) ? { recipient } : { to: recipient }),
    ...(quotedWamid !== null && { context: { message_id: quotedWamid } }),
    type: content.type,
    [content.type]: toGraphContent(content),
    ...(directSend !== null && { category: directSend.category, ttl_seconds: directSend.ttlSeconds }),
    biz_opaque_callback_data: reference,
  })
}

function toGraphContent(content: OutboundContent): object {
  switch (content.type) {
    case 'text':
      return { body: content.text, preview_url: content.previewUrl ?? false }
    case 'template': {
      const { name, language, components } = content
      return { name, language: { code: language }, ...(components.length > 0 && { components }) }
    }
    case 'interactive':
    case 'location':
    case 'contacts':
      return content.value
    case 'reaction':
      return { message_id: content.targetWamid, emoji: content.emoji ?? '' }
    default:
      return toGraphMedia(content)
  }
}

const toGraphMedia = ({
  source,
  caption,
  filename,
  isVoice,
}: Extract<OutboundContent, { source: unknown }>): object => ({
  ...('link' in source ? { link: source.link } : { id: source.providerMediaId }),
  ...(caption !== undefined && { caption }),
  ...(filename !== undefined && { filename }),
  ...(isVoice && { voice: true }),
})

/** Builds a read receipt. */
export const toGraphReceipt = (wamid: string, isTyping: boolean): object => ({
  messaging_product: 'whatsapp',
  status: 'read',
  message_id: wamid,
  ...(isTyping && { typing_indicator: { type: 'text' } }),
})
