import { createHash } from 'node:crypto'
import { type Answer, jsonAnswer } from '../answer.ts'
import type { Account, PhoneNumber } from '../world/account.ts'
import type { World } from '../world/world.ts'
import { refuse } from './graph-error.ts'
import { type PageQuery, pageOf, pickFields } from './page.ts'

/** Listed when no `fields` are asked for; the reason of a rejection and the quality must be asked for. */
const TEMPLATE_FIELDS = ['name', 'parameter_format', 'components', 'language', 'status', 'category']
const NUMBER_FIELDS = ['verified_name', 'display_phone_number', 'quality_rating', 'platform_type', 'throughput']
const ACCOUNT_FIELDS = ['name', 'timezone_id', 'message_template_namespace']
const TEMPLATE_FILTERS = ['name', 'status', 'language', 'category'] as const

/** `GET /{account}/message_templates` */
export function listTemplates(world: World, account: Account, request: PageQuery, trace: string): Answer {
  const records = world.templates
    .list(account.id)
    .map(({ record }) => record)
    .filter((record) =>
      TEMPLATE_FILTERS.every((name) => !request.query.get(name) || request.query.get(name) === record[name]),
    )
  return answerPage(records, request, TEMPLATE_FIELDS, trace)
}

/** `GET /{account}/phone_numbers` */
export function listNumbers(world: World, account: Account, request: PageQuery, trace: string): Answer {
  const numbers = [...world.numbers.values()].filter(({ wabaAccountId }) => wabaAccountId === account.id)
  return answerPage(numbers.map(numberNode), request, NUMBER_FIELDS, trace)
}

/** `GET /{account}` */
export const readAccount = (account: Account, query: URLSearchParams): Answer =>
  jsonAnswer(pickFields(accountNode(account), query, ACCOUNT_FIELDS))

/** `GET /{phone-number-id}` */
export const readNumber = (number: PhoneNumber, query: URLSearchParams): Answer =>
  jsonAnswer(pickFields(numberNode(number), query, NUMBER_FIELDS))

function answerPage<Item extends { id: string }>(items: Item[], request: PageQuery, usual: string[], trace: string) {
  const page = pageOf(items, request)
  if (page === undefined) return refuse({ code: 100, details: 'The cursor is not valid' }, trace)
  return jsonAnswer({ ...page, data: page.data.map((item) => pickFields(item, request.query, usual)) })
}

const numberNode = (number: PhoneNumber) => ({
  id: number.id,
  verified_name: number.verifiedName,
  display_phone_number: number.displayPhoneNumber,
  status: 'CONNECTED',
  quality_rating: 'GREEN',
  platform_type: 'CLOUD_API',
  host_platform: 'CLOUD_API',
  throughput: { level: 'STANDARD' },
  is_official_business_account: false,
  is_on_biz_app: number.isOnBizApp ?? false,
  code_verification_status: 'VERIFIED',
  whatsapp_business_manager_messaging_limit: 'TIER_1K',
})

const accountNode = ({ id, name, marketingTerms = false }: Account) => ({
  id,
  name,
  timezone_id: '1',
  currency: 'EUR',
  account_review_status: 'APPROVED',
  marketing_messages_onboarding_status: marketingTerms ? 'ONBOARDED' : 'ELIGIBLE',
  message_template_namespace: namespaceOf(id),
})

/** A namespace in the provider's form, the same for the same account in every run. */
export function namespaceOf(id: string): string {
  const hex = createHash('sha256').update(id).digest('hex')
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)].join('_')
}
