import type { Account } from '../../world/account.ts'
import type { TemplateRecord } from '../../world/template.ts'
import type { Refusal } from '../graph-error.ts'
import type { SendRequest } from '../send-shape.ts'

/** Direct Send: the longest text in characters, and the lifetimes in seconds. */
const [BODY, SHORTEST_TTL, LONGEST_TTL, LONGEST_CODE_TTL] = [1_024, 30, 43_200, 900]
const DIRECT = ['button', 'cta_url']

/** The address for marketing takes marketing templates, of accounts that have signed its terms. */
export function marketingRefusal(
  account: Account | undefined,
  { type }: SendRequest,
  template: TemplateRecord | undefined,
): Refusal | undefined {
  if (account?.marketingTerms !== true) return { code: 200 }
  if (type !== 'template') return { code: 100, details: 'Message must be a template message.' }
  if (template === undefined || template.category === 'MARKETING') return undefined
  return { code: 131055, details: 'Only marketing template messages are supported' }
}

/** A message with a category needs no template, of accounts that may send such. */
export function directSendRefusal(account: Account | undefined, request: SendRequest): Refusal | undefined {
  const { type, category, ttl_seconds: ttl, text, interactive } = request
  const invalid = (details: string): Refusal => ({ code: 100, details })
  if (category === undefined)
    return ttl === undefined ? undefined : invalid('A time-to-live needs a category: Direct Send only')
  if (account?.directSend !== true) return invalid('Direct Send is not enabled for this account')
  const isDirect = type === 'text' || (type === 'interactive' && DIRECT.includes(interactive?.type ?? ''))
  if (!isDirect) return invalid(`Direct Send does not support ${interactive?.type ?? type}`)
  if ((text?.body ?? '').length > BODY) return { code: 131009, details: `The body is over ${BODY} characters` }
  const longest = category === 'authentication' ? LONGEST_CODE_TTL : LONGEST_TTL
  if (ttl !== undefined && ttl > longest)
    return invalid(`The time-to-live value must be lower than or equal to ${longest}`)
  return ttl !== undefined && ttl < SHORTEST_TTL
    ? invalid(`The time-to-live value must be higher than or equal to ${SHORTEST_TTL}`)
    : undefined
}
