import type { Db } from '../db/connect.ts'

export type SetAsideState = 'unroutable' | 'failed' | 'unreadable'

/** An item that could not be placed or processed, with the provider's JSON for it alone. */
export type SetAside = {
  state: SetAsideState
  reason: string
  phoneNumberId: string | null
  wabaAccountId: string | null
  /** The provider's app, by id or name. */
  app: string | null
  body: Buffer
  receivedAt: Date
}

export type SetAsideRow = Omit<SetAside, 'state'> & { id: number; createdAt: Date }

/** What is taken out again, to be handled once more. */
export type TakenUp = { body: Buffer; receivedAt: Date }

const REASON_LENGTH = 500

/** Keeps items by themselves; their siblings go on. */
export async function setAside(db: Db, items: readonly SetAside[]): Promise<void> {
  if (items.length === 0) return
  await db`
    insert into inbound_items (state, reason, phone_number_id, waba_account_id, app, body, received_at)
    select
      item.state, item.reason, item.phone_number_id, item.waba_account_id, item.app, decode(item.body, 'hex'), item.received_at::timestamptz
    from unnest(
      ${items.map(({ state }) => state)}::text[],
      ${items.map(({ reason }) => reason.replaceAll('\0', '').slice(0, REASON_LENGTH))}::text[],
      ${items.map(({ phoneNumberId }) => phoneNumberId)}::text[],
      ${items.map(({ wabaAccountId }) => wabaAccountId)}::text[],
      ${items.map(({ app }) => app)}::text[],
      ${items.map(({ body }) => body.toString('hex'))}::text[],
      ${items.map(({ receivedAt }) => receivedAt.toISOString())}::text[]
    ) as item (state, reason, phone_number_id, waba_account_id, app, body, received_at)
  `
}

/** What was set aside, newest first, at most 100. */
export function listSetAside(db: Db, states: readonly SetAsideState[]): Promise<SetAsideRow[]> {
  return db<SetAsideRow[]>`
    select id, reason, phone_number_id, waba_account_id, app, body, received_at, created_at
    from inbound_items
    where state = any(${states as SetAsideState[]})
    order by id desc
    limit 100
  `
}

/** Takes a failed item out of the list; undefined when there is none. */
export async function takeFailed(db: Db, id: number): Promise<TakenUp | undefined> {
  const rows = await db<TakenUp[]>`
    delete from inbound_items where id = ${id} and state in ('failed', 'unreadable') returning body, received_at
  `
  return rows[0]
}

export type Waited = { phoneNumberId: string; wabaAccountId: string; appId: string | null; appName: string | null }

/** Takes out what waits for a number, its account or its app, oldest first. */
export async function takeUnroutable(db: Db, sender: Waited): Promise<TakenUp[]> {
  const { phoneNumberId, wabaAccountId } = sender
  const apps = [sender.appId, sender.appName].filter((app) => app !== null)
  const rows = await db<Numbered[]>`
    delete from inbound_items
    where state = 'unroutable'
      and (
        phone_number_id = ${phoneNumberId}
        or (phone_number_id is null and waba_account_id = ${wabaAccountId})
        or app = any(${apps}::text[])
      )
    returning id, body, received_at
  `
  return inOrder(rows)
}

/** Takes out what waits for a number or an account that is connected meanwhile, oldest first. */
export async function takeRoutable(db: Db): Promise<TakenUp[]> {
  const rows = await db<Numbered[]>`
    delete from inbound_items item
    where item.state = 'unroutable'
      and (
        exists (select from sender_routes route where route.phone_number_id = item.phone_number_id)
        or item.phone_number_id is null and exists (
          select from senders sender where sender.waba_account_id = item.waba_account_id and sender.deleted_at is null
        )
      )
    returning item.id, item.body, item.received_at
  `
  return inOrder(rows)
}

type Numbered = TakenUp & { id: number }

const inOrder = (rows: readonly Numbered[]): TakenUp[] => rows.toSorted((one, other) => one.id - other.id)

/** Forgets what no number claimed within seven days of its arrival. */
export async function forgetUnroutable(db: Db): Promise<number> {
  const result = await db`
    delete from inbound_items where state = 'unroutable' and received_at < now() - interval '7 days'
  `
  return result.count
}
