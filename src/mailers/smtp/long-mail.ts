import { Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import MailComposer, { type MailComposerOptions } from 'nodemailer/lib/mail-composer'
import { piecesOf } from '../../files/pieces-of.ts'

const PIECE_BYTES = 32 * 1024

/** Encodes a mail with long HTML, piece by piece: other work of this process goes on in between. */
export const encodeLongMail = (mail: MailComposerOptions & { html: string }): Promise<Buffer> =>
  new MailComposer({ ...mail, html: Readable.from(pausedPiecesOf(mail.html)) }).compile().build()

async function* pausedPiecesOf(text: string): AsyncGenerator<Uint8Array> {
  for (const piece of piecesOf(Buffer.from(text), PIECE_BYTES)) {
    yield piece
    await setImmediate()
  }
}
