import type { Db } from '../db/connect.ts'
import { isAmong } from './message-store.ts'

const ERASED_TEXT = '[erased]'

/** Erases what a customer's conversations show about them and closes them; counts stay. */
export async function blankConversations(tx: Db, companyId: number, customerId: number): Promise<void> {
  await tx`
    with erased as (
      update conversations
      set
        user_id = null,
        profile_name = null,
        profile_search = null,
        referral = null,
        last_text = case when last_text is not null then ${ERASED_TEXT} end,
        status = 'closed',
        unread_messages = 0,
        updated_at = statement_timestamp()
      where (company_id, customer_id) = (${companyId}, ${customerId})
      returning company_id, id
    )
    update conversation_activity activity
    set status = 'closed', is_unread = false
    from erased
    where (activity.company_id, activity.conversation_id) = (erased.company_id, erased.id)
  `
}

type ConversationBatch = {
  own: number[]
  groups: number[]
  last: number | null
}

/** Scans `limit` conversations after an id for the contact's own and for groups. */
export async function findConversations(
  db: Db,
  companyId: number,
  contactId: number,
  after: number,
  limit: number,
): Promise<ConversationBatch> {
  const [step] = await db<ConversationBatch[]>`
    select
      coalesce(array_agg(step.id) filter (where customer.contact_id = ${contactId} and not kind.is_group), '{}') as own,
      coalesce(array_agg(step.id) filter (where kind.is_group), '{}') as groups,
      max(step.id) as last
    from (
      select company_id, id, customer_id
      from conversations
      where company_id = ${companyId} and id > ${after}
      order by id
      limit ${limit}
    ) as step
    join customers customer on (customer.company_id, customer.id) = (step.company_id, step.customer_id)
    cross join lateral (
      select exists (
        select
        from customer_identities identity
        where (identity.company_id, identity.customer_id) = (customer.company_id, customer.id)
          and identity.identity like '#%'
      ) as is_group
    ) as kind
  `
  return step ?? { own: [], groups: [], last: null }
}

export type MessageKey = { id: number; wamid: string | null }
type MessageBatch = { messages: MessageKey[]; last: number | null }

/** Scans `limit` messages after a seq: returns all, or only inbound ones by `writers`, as in groups. */
export async function findMessages(
  db: Db,
  companyId: number,
  conversationId: number,
  writers: readonly string[] | undefined,
  after: number,
  limit: number,
): Promise<MessageBatch> {
  const shown = [...(writers ?? [])]
  const [step] = await db<MessageBatch[]>`
    select
      coalesce(
        json_agg(json_build_object('id', step.id, 'wamid', step.wamid)) filter (
          where ${writers === undefined} or exists (
            select
            from unnest(${shown}::text[]) as writer (name)
            where step.direction = 'inbound'
              and (
                step.sender_name = writer.name
                or right(step.sender_name, length(writer.name) + 3) = ' (' || writer.name || ')'
              )
          )
        ),
        '[]'
      ) as messages,
      max(step.seq) as last
    from (
      select id, seq, wamid, direction, sender_name
      from messages
      where (company_id, conversation_id) = (${companyId}, ${conversationId}) and seq > ${after}
      order by seq
      limit ${limit}
    ) as step
  `
  return step ?? { messages: [], last: null }
}

type ErasedWamid = { wamid: string; erased: string }

/** Lists the wamids of messages and of their reactions, edits and revokes. */
export async function listWamids(db: Db, companyId: number, messages: readonly MessageKey[]): Promise<ErasedWamid[]> {
  const own = messages.flatMap(({ id, wamid }) => (wamid === null ? [] : [{ wamid, erased: `erased:${id}` }]))
  const wamids = own.map(({ wamid }) => wamid)
  const facts = await db<ErasedWamid[]>`
    select wamid, 'erased:r' || ordinal as erased
    from message_reactions
    where company_id = ${companyId} and target_wamid = any(${wamids}::text[])
    union all
    select wamid, 'erased:c' || ordinal
    from message_changes
    where company_id = ${companyId} and target_wamid = any(${wamids}::text[])
  `
  return [...own, ...facts]
}

/** Erases messages with statuses, reactions and changes. Keeps the rows, so that pages stay intact. */
export async function eraseMessages(db: Db, companyId: number, messages: readonly MessageKey[]): Promise<void> {
  const ids = messages.map(({ id }) => id)
  await db`
    with target as materialized (
      select id, conversation_id, seq, wamid
      from messages message
      where company_id = ${companyId} and id = any(${ids}::bigint[]) and ${isAmong(ids)}
      order by id
      for no key update
    ),
    reaction as (
      update message_reactions reaction
      set wamid = 'erased:r' || reaction.ordinal, target_wamid = 'erased:' || target.id, emoji = null
      from target
      where (reaction.company_id, reaction.target_wamid) = (${companyId}, target.wamid)
        and reaction.wamid <> 'erased:r' || reaction.ordinal
    ),
    change as (
      update message_changes change
      set
        wamid = 'erased:c' || change.ordinal, target_wamid = 'erased:' || target.id, writers = '{}', shown_writer = null,
        text = null
      from target
      where (change.company_id, change.target_wamid) = (${companyId}, target.wamid)
        and change.wamid <> 'erased:c' || change.ordinal
    ),
    status as (
      delete from message_status_events event
      using target
      where (event.company_id, event.message_id) = (${companyId}, target.id)
    ),
    -- Messages of others in a group name the erased ones.
    quoting as (
      update messages message
      set quoted_wamid = null
      where message.company_id = ${companyId}
        and message.conversation_id = any(array(select conversation_id from target))
        and message.quoted_wamid = any(array(select wamid from target))
        and message.id <> all(array(select id from target))
    ),
    -- A group shows the text of its last message.
    shown as (
      update conversations conversation
      set last_text = ${ERASED_TEXT}
      from target
      where (conversation.company_id, conversation.id) = (${companyId}, target.conversation_id)
        and conversation.message_count = target.seq
        and conversation.last_text <> ${ERASED_TEXT}
    )
    update messages message
    set
      text = case when message.text is not null then ${ERASED_TEXT} end,
      media = null,
      content = null,
      context = null,
      quoted_wamid = null,
      error = null,
      sender_name = case when message.direction = 'outbound' then message.sender_name end,
      wamid = 'erased:' || message.id,
      provider_message_id = null,
      updated_at = statement_timestamp()
    from target
    where (message.company_id, message.id) = (${companyId}, target.id)
      and ${isAmong(ids)}
      and (
        message.wamid is distinct from 'erased:' || message.id
        or message.text <> ${ERASED_TEXT}
        or message.error is not null
        or message.media is not null
      )
  `
}
