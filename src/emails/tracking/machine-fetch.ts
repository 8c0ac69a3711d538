import { isbot } from 'isbot'

/**
 * Names of mail proxies and link scanners that crawlers' lists leave out. Apple's mail privacy proxy sends `Mozilla/5.0` alone. Outlook on
 * a desktop, with a person before it, calls itself `Microsoft Office` and `ms-office`; Office asks in advance as `Microsoft Office
 * Existence Discovery`.
 */
const MAIL_MACHINES =
  /proxy|scan|barracuda|proofpoint|mimecast|safe-?links?|office (existence|protocol) discovery|symantec|trendmicro|forcepoint|fireeye|sophos|^mozilla\/5\.0$/i

type Headers = Readonly<Record<string, string | string[] | undefined>>

/** Returns whether a fetch looks like a program's rather than a reader's. It is counted all the same, with this flag. */
export function isMachine(headers: Headers): boolean {
  const agent = String(headers['user-agent'] ?? '').trim()
  if (agent === '' || MAIL_MACHINES.test(agent) || isbot(agent)) return true
  const purposes = [headers.purpose, headers['sec-purpose'], headers['x-purpose'], headers['x-moz']]
  return purposes.some((purpose) => /prefetch|prerender|preview/i.test(String(purpose ?? '')))
}
