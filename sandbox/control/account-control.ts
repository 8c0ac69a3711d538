import { Type } from 'typebox'
import { envelopeOf } from '../webhook/envelope.ts'
import { BadInput, parserOf } from './bad-input.ts'
import type { ControlCall, ControlDeps } from './control-deps.ts'

/** The business that the events about partners come for. */
const BUSINESS_ID = '400000000000001'

const parseChange = parserOf(
  Type.Object(
    { marketingTerms: Type.Optional(Type.Boolean()), directSend: Type.Optional(Type.Boolean()) },
    { additionalProperties: false },
  ),
)

/**
 * `PUT /sandbox/accounts/:id`: what an account may do. When it signs the terms for marketing, the event says so, which comes for the
 * business and names the account; Gupshup passes no such event on.
 */
export async function changeAccount({ world, clock, webhook }: ControlDeps, { params, body }: ControlCall) {
  const account = world.accounts.get(params.id ?? '')
  if (account === undefined) throw new BadInput('id', `${params.id} is no account here`, 404)
  const { marketingTerms = account.marketingTerms ?? false, directSend = account.directSend ?? false } =
    parseChange(body)
  const isSigned = marketingTerms && account.marketingTerms !== true
  Object.assign(account, { marketingTerms, directSend })
  const hasApp = [...world.numbers.values()].some((one) => one.wabaAccountId === account.id && one.app !== undefined)
  if (!isSigned || hasApp) return account
  const waba_info = { waba_id: account.id, owner_business_id: BUSINESS_ID }
  const value = { event: 'MM_LITE_TERMS_SIGNED', waba_info }
  const change = { wabaAccountId: BUSINESS_ID, field: 'account_update', value }
  return { ...account, ...(await webhook.post(envelopeOf([change], clock.now()))) }
}
