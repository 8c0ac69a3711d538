/**
 * Names that mail proxies, link scanners, crawlers and programs give themselves. Apple's mail privacy proxy says no
 * more than `Mozilla/5.0`. Outlook on a desktop, with a person before it, calls itself `Microsoft Office` and `ms-office`;
 * Office asks in advance as `Microsoft Office Existence Discovery`.
 */
const MACHINES =
  /proxy|bot\b|bots\b|crawl|spider|scan|preview|prefetch|fetch|monitor|barracuda|proofpoint|mimecast|safelinks|office (existence|protocol) discovery|outlook-?safelink|symantec|trendmicro|forcepoint|fireeye|sophos|headless|phantom|curl|wget|python|java\/|okhttp|go-http|node|axios|undici|libwww|httpclient|^mozilla\/5\.0$/i

type Headers = Readonly<Record<string, string | string[] | undefined>>

/**
 * Whether a fetch looks like a program's rather than a reader's, by what it says of itself. It is counted all the same:
 * this is a flag in addition to the counts.
 */
export function isMachine(headers: Headers): boolean {
  const agent = String(headers['user-agent'] ?? '').trim()
  if (agent === '' || MACHINES.test(agent)) return true
  const purposes = [headers.purpose, headers['sec-purpose'], headers['x-purpose'], headers['x-moz']]
  return purposes.some((purpose) => /prefetch|prerender|preview/i.test(String(purpose ?? '')))
}
