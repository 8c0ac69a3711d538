import { type Db, sql } from '../../db/connect.ts'
import { inputRows } from '../../db/input-rows.ts'
import { keyOfInput, toKeyColumns } from '../../http/idempotency/idempotency-store.ts'
import { freeHolder, freeHolders, type IdentityKey, isInLedger } from '../../people/customer-store.ts'
import type { Send } from '../compose-message.ts'
import { lockDailyLimits } from './daily-limit-store.ts'

export type SendRow = {
  customerId: number | null
  customerPhone: string | null
  /** Null: no customer, or the contact was deleted. */
  contactId: number | null
  /** Contacts to attach: per current customer number, else the recipient's, the oldest free one. */
  holders: { identity: string; id: number }[]
  conversationId: number | null
  userId: string | null
  messageCount: number
  lastInboundAt: Date | null
  nextMessageMs: number | null
  nextSlotMs: number | null
  used: number
  isCounted: boolean
  freeAt: Date | null
  nowMs: number
  isKeyTaken: boolean
  messageId: number
  /** Reserved for new rows; null: the row exists. */
  newCustomerId: number | null
  newContactId: number | null
  newConversationId: number | null
  /** Whether the new or attached contact's customer has stated consent. */
  isInLedger: boolean
}

/** Locks throttles and daily limits in the global lock order. */
export async function lockLimits(tx: Db, sends: readonly Send[], at: Date): Promise<void> {
  const throttled = sends.filter(({ slotSeconds }) => slotSeconds !== null)
  const limited = sends.filter(({ dailyLimit }) => dailyLimit !== null)
  await Promise.all([
    throttled.length > 0 && lockThrottles(tx, throttled),
    ...(limited.length > 0 ? lockDailyLimits(tx, limited, at) : []),
  ])
}

const lockThrottles = (tx: Db, sends: readonly Send[]) => tx`
  select
  from sender_limits limits
  where (limits.company_id, limits.sender_id) in (
    select input.company_id, input.sender_id
    from ${inputRows(sends.map(toRow), { bigint: ['companyId', 'senderId'] })}
  )
  order by limits.company_id, limits.sender_id
  for update
`

/** Locks scheduled messages; returns those still waiting, as `company id`. */
export async function lockScheduled(tx: Db, sends: readonly Send[]): Promise<Set<string>> {
  const rows = sends.flatMap(({ companyId, scheduledId }) =>
    scheduledId === null ? [] : [{ companyId, id: scheduledId }],
  )
  if (rows.length === 0) return new Set()
  const waiting = await tx<{ companyId: number; id: number }[]>`
    select scheduled.company_id, scheduled.id
    from ${inputRows(rows, { bigint: ['companyId', 'id'] })}
    join scheduled_messages scheduled on (scheduled.company_id, scheduled.id) = (input.company_id, input.id)
    where scheduled.status = 'scheduled'
    order by scheduled.company_id, scheduled.id
    for update of scheduled
  `
  return new Set(waiting.map(({ companyId, id }) => `${companyId} ${id}`))
}

/** Reads facts in input order. Must run behind the locks, in its own statement. */
export async function readSendRows(tx: Db, sends: readonly Send[], at: Date): Promise<SendRow[]> {
  // A lateral limit forces one index probe per send, regardless of statistics.
  return await tx<SendRow[]>`
    select
      customer.id as customer_id,
      customer.phone as customer_phone,
      case when contact.deleted_at is null then contact.id end as contact_id,
      case
        when not needed.is_contact then '[]'
        when customer.id is null then (
          select coalesce(json_agg(json_build_object('identity', input.identity, 'id', holder.id)), '[]')
          from (${freeHolder(sql`input.company_id`, sql`input.identity`)}) as holder
        )
        else (
          select coalesce(json_agg(json_build_object('identity', holder.identity, 'id', holder.id)), '[]')
          from (${freeHolders(sql`input.company_id`, sql`customer.id`)}) as holder
        )
      end as holders,
      conversation.id as conversation_id,
      case when conversation.id is not null then conversation.user_id else (
        select identity.identity
        from customer_identities identity
        where (identity.company_id, identity.customer_id) = (input.company_id, customer.id)
          and identity.account = input.account
          and identity.retired_at is null
        order by identity.reported_at desc
        limit 1
      ) end as user_id,
      coalesce(conversation.message_count, 0) as message_count,
      conversation.last_inbound_at,
      extract(epoch from conversation.next_message_at)::double precision * 1000 as next_message_ms,
      extract(epoch from limits.next_slot_at)::double precision * 1000 as next_slot_ms,
      coalesce(daily.used, 0) as used,
      coalesce(place.counted_at > ${at}::timestamptz - interval '24 hours', false) as is_counted,
      oldest.counted_at + interval '24 hours' as free_at,
      extract(epoch from clock_timestamp())::double precision * 1000 as now_ms,
      taken.id is not null as is_key_taken,
      next_message_id() as message_id,
      case when customer.id is null then nextval('customers_id_seq') end as new_customer_id,
      case when needed.is_contact then nextval('contacts_id_seq') end as new_contact_id,
      case when conversation.id is null then nextval('conversations_id_seq') end as new_conversation_id,
      needed.is_contact and ${isInLedger(identitiesOfSend)} as is_in_ledger
    from ${inputRows(sends.map(toRow), {
      integer: ['ord', 'dailyLimit'],
      bigint: ['companyId', 'senderId'],
      text: ['identity', 'account', 'scope', 'clientId', 'method', 'path', 'key'],
    })}
    ${personOfSend}
    ${limitsOfSend}
    ${keyOfInput} as taken on true
    order by input.ord
  `
}

const personOfSend = sql`
  left join lateral find_customer(input.company_id, input.identity) as named on true
  left join lateral (
    select existing.id, existing.contact_id, existing.phone
    from customers existing
    where (existing.company_id, existing.id) = (input.company_id, named.customer_id)
    limit 1
  ) as customer on true
  left join lateral (
    select existing.id, existing.deleted_at
    from contacts existing
    where (existing.company_id, existing.id) = (input.company_id, customer.contact_id)
    limit 1
  ) as contact on true
  left join lateral (
    select existing.id, existing.user_id, existing.message_count, existing.last_inbound_at, existing.next_message_at
    from conversations existing
    where (existing.company_id, existing.sender_id, existing.customer_id) = (input.company_id, input.sender_id, customer.id)
    limit 1
  ) as conversation on true
  cross join lateral (
    select contact.id is null or contact.deleted_at is not null as is_contact
  ) as needed
`

const identitiesOfSend = sql`
  select input.identity
  union all
  select existing.identity
  from customer_identities existing
  where (existing.company_id, existing.customer_id) = (input.company_id, customer.id)
`

const limitsOfSend = sql`
  left join lateral (
    select existing.next_slot_at
    from sender_limits existing
    where (existing.company_id, existing.sender_id) = (input.company_id, input.sender_id)
    limit 1
  ) as limits on true
  left join lateral (
    select existing.used
    from daily_limits existing
    where input.daily_limit is not null and (existing.company_id, existing.scope) = (input.company_id, input.scope)
    limit 1
  ) as daily on true
  left join lateral (
    select existing.counted_at
    from daily_limit_entries existing
    where input.daily_limit is not null
      and (existing.company_id, existing.scope, existing.customer_id) = (input.company_id, input.scope, customer.id)
    limit 1
  ) as place on true
  left join lateral (
    select existing.counted_at
    from daily_limit_entries existing
    where daily.used >= input.daily_limit and (existing.company_id, existing.scope) = (input.company_id, input.scope)
    order by existing.counted_at
    -- Of a limit that was lowered, all places above it come first.
    offset least(greatest(daily.used - input.daily_limit, 0), 1000)
    limit 1
  ) as oldest on true
`

export const identityKeysOf = (sends: readonly Send[]): IdentityKey[] =>
  sends.map(({ companyId, identity }) => ({ companyId, identity }))

const toRow = (send: Send, ord: number) => ({
  ...(send.key !== null && toKeyColumns(send.key)),
  ord,
  companyId: send.companyId,
  senderId: send.senderId,
  identity: send.identity,
  account: send.account,
  scope: send.limitScope,
  dailyLimit: send.dailyLimit,
})
