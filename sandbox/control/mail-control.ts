import { headerValues, parseMail } from '../mail/mime.ts'
import type { Received } from '../world/world.ts'
import { BadInput } from './bad-input.ts'
import type { ControlCall, ControlDeps } from './control-deps.ts'

const DEFAULT_LIMIT = 100

/** `GET /sandbox/emails?limit`: what the mail server took, newest first. */
export function listEmails({ world }: ControlDeps, { query }: ControlCall) {
  const limit = query.has('limit') ? Number(query.get('limit')) : DEFAULT_LIMIT
  if (!Number.isInteger(limit) || limit < 1) throw new BadInput('limit', 'must be a positive integer')
  return world.mails.newest(limit).map(showMail)
}

function showMail({ from, to, raw, at }: Received) {
  const mail = parseMail(raw)
  const names = [...new Set(mail.headers.map(({ name }) => name.toLowerCase()))]
  const one = (name: string) => headerValues(mail, name).join(', ')
  return {
    from: one('from'),
    to: one('to'),
    subject: one('subject'),
    html: mail.html,
    text: mail.text,
    // A header that stands there several times shows all its values.
    headers: Object.fromEntries(
      names.map((name) => {
        const values = headerValues(mail, name)
        return [name, values.length === 1 ? values[0] : values]
      }),
    ),
    envelope: { from, to },
    at: at.toISOString(),
  }
}
