import { IDS_A_MONTH } from '../../../conversations/message-month.ts'
import type { Db } from '../../../db/connect.ts'
import { messageStatus } from '../../events/kinds/message-status.ts'
import { MESSAGE_RECEIVED } from '../../events/message-received.ts'

export type OutlivedPlace = { companyId: number; id: number }

/** Records the people of the next `limit` messages' envelopes, for erasures without the messages. Can be repeated. */
export async function namePeopleOfMessages(
  db: Db,
  month: number,
  { companyId, id }: OutlivedPlace,
  limit: number,
): Promise<OutlivedPlace | undefined> {
  const [last] = await db<OutlivedPlace[]>`
    with step as materialized (
      select company_id, id, conversation_id, wamid
      from messages
      where (company_id, id) > (${companyId}, ${id})
        and id between ${month * IDS_A_MONTH}::bigint and ${(month + 1) * IDS_A_MONTH - 1}::bigint
      order by company_id, id
      limit ${limit}
    ),
    named as (
      insert into envelope_people (company_id, person, event, event_id, day, created_at)
      select step.company_id, 'conversation:' || step.conversation_id, outlived.event, outlived.event_id, outlived.day, outlived.created_at
      from step
      cross join lateral (
        select envelope.event, envelope.event_id, envelope.day, envelope.created_at
        from envelopes envelope
        where (envelope.company_id, envelope.event, envelope.event_id) = (step.company_id, ${MESSAGE_RECEIVED}, step.wamid)
        union all
        select envelope.event, envelope.event_id, envelope.day, envelope.created_at
        from envelopes envelope
        where (envelope.company_id, envelope.event) = (step.company_id, ${messageStatus.name})
          and envelope.event_id >= 'msg_' || step.id || '.' and envelope.event_id < 'msg_' || step.id || '/'
      ) as outlived
      on conflict do nothing
    )
    select company_id, id from step order by company_id desc, id desc limit 1
  `
  return last
}
