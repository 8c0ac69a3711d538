import * as base64 from 'nodemailer/lib/base64'
import MailComposer from 'nodemailer/lib/mail-composer'
import type MimeNode from 'nodemailer/lib/mime-node'
import * as quotedPrintable from 'nodemailer/lib/qp'
import type { MailMessage } from './mail-message.ts'

export const encodeWhole = (message: MailMessage): Buffer => encodeMail(new MailComposer(message).compile())

/** Encodes to the bytes of Nodemailer's stream; its stream chain per MIME part cost more than the encoding. */
export function encodeMail(mail: MimeNode): Buffer {
  const text = encodePart(mail)
  return Buffer.from(text.endsWith('\n') ? text : `${text}\r\n`)
}

function encodePart(part: MimeNode): string {
  const head = `${part.buildHeaders()}\r\n\r\n`
  if (part.childNodes.length === 0) return head + encodeContent(part)
  const parts = part.childNodes.map((child) => `--${part.boundary}\r\n${encodePart(child)}\r\n`)
  return `${head}${parts.join('')}--${part.boundary}--\r\n`
}

function encodeContent(part: MimeNode): string {
  const content = typeof part.content === 'string' ? part.content : ''
  switch (part.getTransferEncoding()) {
    case 'quoted-printable':
      return quotedPrintable.wrap(quotedPrintable.encode(content))
    case 'base64':
      return base64.wrap(base64.encode(content))
    default:
      return content
  }
}
