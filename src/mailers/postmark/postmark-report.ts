import { memberOf } from '../../platform/text/json-text.ts'
import type { ReadMailReport } from '../mail-reports.ts'
import { toServerMessage } from '../server-message.ts'

export const METADATA_KEY = 'report'

/** https://postmarkapp.com/developer/api/bounce-api#bounce-types */
const PERMANENT = ['HardBounce', 'BadEmailAddress']
const TEMPORARY = ['SoftBounce', 'DnsError', 'SpamNotification', 'VirusNotification', 'Blocked', 'DMARCPolicy']

/** Reads a Postmark webhook; returns undefined unless a bounce or complaint with a report token. */
export const readPostmarkReport: ReadMailReport = (body) => {
  const [recordType, type] = [textOf(body, 'RecordType'), textOf(body, 'Type')]
  const token = textOf(memberOf(body, 'Metadata'), METADATA_KEY)
  const message = toServerMessage(textOf(body, 'Details') || textOf(body, 'Description') || type || recordType || '')
  if (token === undefined) return undefined
  if (recordType === 'SpamComplaint' || type === 'SpamComplaint')
    return { token, report: { kind: 'complaint', message } }
  if (recordType !== 'Bounce' || type === undefined) return undefined
  if (!PERMANENT.includes(type) && !TEMPORARY.includes(type)) return undefined
  return { token, report: { kind: 'bounce', isPermanent: PERMANENT.includes(type), message } }
}

function textOf(value: unknown, name: string): string | undefined {
  const member = memberOf(value, name)
  return typeof member === 'string' ? member : undefined
}
