import { USER_ID } from '../text/phone.ts'
import type { OutboundContent, OutboundMessage } from './provider.ts'

/** A send's body in the form of Meta's Cloud API, which other providers take too. */
export function toGraphMessage({ recipient, content, reference }: OutboundMessage): string {
  return JSON.stringify({
    messaging_product: 'whatsapp',
    recipient_type: 'individual',
    ...(USER_ID.test(recipient) ? { recipient } : { to: recipient }),
    type: content.type,
    [content.type]: toGraphContent(content),
    biz_opaque_callback_data: reference,
  })
}

function toGraphContent(content: OutboundContent): object {
  if (content.type === 'text') return { body: content.text, preview_url: false }
  if (content.type === 'template') {
    const { name, language, components } = content
    return { name, language: { code: language }, ...(components.length > 0 && { components }) }
  }
  const { source, caption, filename } = content
  return {
    ...('link' in source ? { link: source.link } : { id: source.providerMediaId }),
    ...(caption !== undefined && { caption }),
    ...(filename !== undefined && { filename }),
  }
}
