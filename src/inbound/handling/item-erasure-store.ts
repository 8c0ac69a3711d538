import type { Db } from '../../db/connect.ts'

/**
 * Among the next `limit` failed, unreadable, unroutable and unverified items: those that hold one of the texts and name a
 * number, account or app of the company.
 */
const found = (db: Db, companyId: number, texts: readonly string[], after: number, limit: number) => db`
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
          or (step.phone_number_id is null and sender.waba_account_id = step.waba_account_id)
          or step.app in (sender.app_id, sender.app_name)
      )
      and exists (
        select
        from unnest(${[...texts]}::text[]) as text (value)
        where position(convert_to(text.value, 'UTF8') in step.body) > 0
      )
  )
`

/**
 * Deletes the items about a person, and the posted bodies of these items, among the next `limit` items. Returns where to
 * continue; undefined at the end.
 */
export async function eraseItems(
  db: Db,
  companyId: number,
  texts: readonly string[],
  after: number,
  limit: number,
): Promise<number | undefined> {
  const [step] = await db<{ last: number | null }[]>`
    with ${found(db, companyId, texts, after, limit)},
    item as (
      delete from inbound_items using target where inbound_items.id = target.id
    ),
    body as (
      delete from inbound_bodies using target where inbound_bodies.event_id = target.event_id
    )
    select max(step.id) as last from step
  `
  return step?.last ?? undefined
}

/** The items about a person as JSON, and where to continue. */
export async function readItems(
  db: Db,
  companyId: number,
  texts: readonly string[],
  after: number,
  limit: number,
): Promise<{ rows: string[]; last: number | undefined }> {
  const [step] = await db<{ rows: string[]; last: number | null }[]>`
    with ${found(db, companyId, texts, after, limit)}
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
