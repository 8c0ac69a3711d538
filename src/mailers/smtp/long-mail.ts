import { Readable } from 'node:stream'
import MailComposer, { type MailComposerOptions } from 'nodemailer/lib/mail-composer'
import { pausedPiecesOf } from '../../files/pieces-of.ts'

const PIECE_BYTES = 32 * 1024

/** Encodes a mail with long HTML or text, piece by piece: other work of this process goes on in between. */
export const encodeLongMail = ({ html, text, ...mail }: MailComposerOptions & LongTexts): Promise<Buffer> => {
  const texts = { html: inPieces(html), ...(text !== undefined && { text: inPieces(text) }) }
  return new MailComposer({ ...mail, ...texts }).compile().build()
}

type LongTexts = { html: string; text?: string }

const inPieces = (text: string): Readable => Readable.from(pausedPiecesOf(Buffer.from(text), PIECE_BYTES))
