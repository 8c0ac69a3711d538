import { isObject } from '../events/json-member.ts'
import { failed, idOf, objectsIn } from '../graph-answer.ts'
import { text } from '../graph-error.ts'
import type { Fetched, ProviderNumber, ProviderTemplate } from '../provider.ts'
import { readTemplate } from '../template-shape.ts'

const TEMPLATE_FIELDS =
  'id,name,language,status,category,components,parameter_format,rejected_reason,quality_score,previous_category,' +
  'message_send_ttl_seconds'
const NUMBER_FIELDS = 'id,display_phone_number,verified_name,is_on_biz_app'
const PAGE_LIMIT = 100
const MAX_PAGES = 200

export type Ask = (path: string) => Promise<Fetched<Record<string, unknown>>>

/** Fetches an account's templates and the namespace, which only the account has. */
export async function fetchTemplates(ask: Ask, wabaAccountId: string): Promise<Fetched<ProviderTemplate[]>> {
  const [items, account] = await Promise.all([
    readPages(ask, `${wabaAccountId}/message_templates`, TEMPLATE_FIELDS),
    ask(`${wabaAccountId}?fields=message_template_namespace`),
  ])
  if (items.kind === 'failed') return items
  const namespace = account.kind === 'fetched' ? account.value.message_template_namespace : null
  const templates = items.value.flatMap((item) => readTemplate({ ...item, namespace }) ?? [])
  return { kind: 'fetched', value: templates }
}

/** Lists an account's numbers, at most 200 pages with 100 each. Fails if any page fails. */
export async function listNumbers(ask: Ask, wabaAccountId: string): Promise<Fetched<ProviderNumber[]>> {
  const items = await readPages(ask, `${wabaAccountId}/phone_numbers`, NUMBER_FIELDS)
  return items.kind === 'failed' ? items : { kind: 'fetched', value: items.value.map(toProviderNumber) }
}

const toProviderNumber = (item: Record<string, unknown>): ProviderNumber => ({
  phoneNumberId: idOf(item.id),
  wabaAccountId: null,
  appId: null,
  phoneNumber: text(item.display_phone_number),
  phoneName: text(item.verified_name),
  isSharedWithApp: item.is_on_biz_app === true,
})

async function readPages(ask: Ask, path: string, fields: string): Promise<Fetched<Record<string, unknown>[]>> {
  const items: Record<string, unknown>[] = []
  const query = new URLSearchParams({ fields, limit: String(PAGE_LIMIT) })
  for (let page = 0; page < MAX_PAGES; page++) {
    const answer = await ask(`${path}?${query}`)
    if (answer.kind === 'failed') return answer
    items.push(...objectsIn(answer.value.data))
    const after = nextCursor(answer.value.paging)
    if (after === undefined) return { kind: 'fetched', value: items }
    query.set('after', after)
  }
  return failed(`the list has more than ${MAX_PAGES} pages`)
}

/** Uses the cursor rather than the `next` address, so that the credential stays on the same host. */
function nextCursor(paging: unknown): string | undefined {
  if (!isObject(paging) || typeof paging.next !== 'string' || !isObject(paging.cursors)) return undefined
  return text(paging.cursors.after) ?? undefined
}
