import { Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import MailComposer, { type MailComposerOptions } from 'nodemailer/lib/mail-composer'

const PIECE_BYTES = 32 * 1024

/** Encodes a mail with long HTML, piece by piece: other work of this process goes on in between. */
export const encodeLongMail = (mail: MailComposerOptions & { html: string }): Promise<Buffer> =>
  new MailComposer({ ...mail, html: Readable.from(piecesOf(mail.html)) }).compile().build()

async function* piecesOf(text: string): AsyncGenerator<Buffer> {
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
    yield bytes.subarray(at, at + PIECE_BYTES)
    await setImmediate()
  }
}
