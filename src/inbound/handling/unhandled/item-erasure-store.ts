import { type Db, sql } from '../../../db/connect.ts'

/** Account items may have an unconnected number. */
const found = (companyId: number, texts: readonly string[], after: number, limit: number) => sql`
  sender as materialized (
    select phone_number_id, waba_account_id, app_id, app_name from senders where company_id = ${companyId}
  ),
  step as materialized (
    select item.*
    from inbound_items item
    where item.id > ${after}
    order by item.id
    limit ${limit}
  ),
  target as materialized (
    select step.*
    from step
    where exists (
        select
        from sender
        where sender.phone_number_id = step.phone_number_id
          or (
            -- An item that names a number has its account in the body alone.
            (
              sender.waba_account_id = step.waba_account_id
              or position(convert_to('"' || sender.waba_account_id || '"', 'UTF8') in step.body) > 0
            )
            and not exists (
              select
              from sender_routes other
              where other.phone_number_id = step.phone_number_id and other.company_id <> ${companyId}
            )
          )
          or step.app in (sender.app_id, sender.app_name)
      )
      and exists (
        select
        from unnest(${[...texts]}::text[]) as text (value)
        where position(convert_to(text.value, 'UTF8') in step.body) > 0
      )
  )
`

/** Deletes a person's items among the next `limit` ones. Returns where to continue. */
export async function eraseItems(
  db: Db,
  companyId: number,
  texts: readonly string[],
  after: number,
  limit: number,
): Promise<number | undefined> {
  const [step] = await db<{ last: number | null }[]>`
    with ${found(companyId, texts, after, limit)},
    item as (
      delete from inbound_items using target where inbound_items.id = target.id
    )
    select max(step.id) as last from step
  `
  return step?.last ?? undefined
}

/** Deletes bodies about a person; their other items can't be proven afterwards. Returns where to continue. */
export async function eraseBodies(
  db: Db,
  companyId: number,
  texts: readonly string[],
  after: number,
  limit: number,
): Promise<number | undefined> {
  const [step] = await db<{ last: number | null }[]>`
    with name as materialized (
      select distinct name.text
      from senders
      cross join unnest(array[phone_number_id, waba_account_id, app_id, app_name]) as name (text)
      where company_id = ${companyId} and name.text <> ''
    ),
    step as materialized (
      select event_id, body
      from inbound_bodies
      where event_id > ${after}
      order by event_id
      limit ${limit}
    ),
    erased as (
      delete from inbound_bodies
      using step
      where inbound_bodies.event_id = step.event_id
        and exists (select from name where position(convert_to('"' || name.text || '"', 'UTF8') in step.body) > 0)
        and exists (
          select from unnest(${[...texts]}::text[]) as text (value)
          where position(convert_to(text.value, 'UTF8') in step.body) > 0
        )
    )
    select max(step.event_id) as last from step
  `
  return step?.last ?? undefined
}

/** Returns a person's items as JSON, and where to continue. */
export async function readItems(
  db: Db,
  companyId: number,
  texts: readonly string[],
  after: number,
  limit: number,
): Promise<{ rows: string[]; last: number | undefined }> {
  const [step] = await db<{ rows: string[]; last: number | null }[]>`
    with ${found(companyId, texts, after, limit)}
    select
      array(
        select jsonb_build_object(
          'state', target.state, 'reason', target.reason, 'received_at', target.received_at,
          'body', encode(target.body, 'base64')
        )::text
        from target
        order by target.id
      ) as rows,
      (select max(step.id) from step) as last
  `
  return { rows: step?.rows ?? [], last: step?.last ?? undefined }
}
