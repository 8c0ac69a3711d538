import { needsSmtpUtf8 } from '../platform/text/email-address.ts'
import type { Mail, MailOutcome } from './mailer.ts'

/** Returns the first address with a non-ASCII local part, which only SMTPUTF8 servers accept. */
export const utf8Address = ({ from, to, replyTo, returnPath }: Mail): string | undefined =>
  [to, from.address, replyTo, returnPath].find((address) => address !== null && needsSmtpUtf8(address)) ?? undefined

export const refuseUtf8 = (address: string): MailOutcome => ({
  kind: 'refused',
  isTemporary: false,
  message: `The mail server does not offer SMTPUTF8, which the address ${address} needs`,
})
