import { needsSmtpUtf8 } from '../platform/text/email-address.ts'
import type { Mail, MailOutcome } from './mailer.ts'

/** Returns the first address of a mail whose part before the @ is beyond ASCII: only some servers take it. */
export const utf8Address = ({ from, to, replyTo, returnPath }: Mail): string | undefined =>
  [to, from.address, replyTo, returnPath].find((address) => address !== null && needsSmtpUtf8(address)) ?? undefined

/** The final refusal of a mail with such an address. */
export const refuseUtf8 = (address: string): MailOutcome => ({
  kind: 'refused',
  isTemporary: false,
  message: `The mail server does not offer SMTPUTF8, which the address ${address} needs`,
})
