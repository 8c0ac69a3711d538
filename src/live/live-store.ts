import type { Db, Pool } from '../db/connect.ts'

const CHANNEL = 'parley_live'
/** A vanished process counts as listening for this time. */
const LISTENING_SECONDS = 10
const OLD_HOURS = 1

/** Sends a notice, unless no process listens. */
export async function notify(db: Db, text: string): Promise<void> {
  await db`
    select pg_notify(${CHANNEL}, ${text})
    from (select from live_listeners where listens_until > now() limit 1) as listening
  `
}

/** Renews the listener row and sends the heartbeat to all listeners, including this process. */
export async function keepListening(db: Db, id: string): Promise<void> {
  await db`
    with inserted as (
      insert into live_listeners (id, listens_until)
      values (${id}, now() + make_interval(secs => ${LISTENING_SECONDS}))
      on conflict (id) do update set listens_until = excluded.listens_until
      returning id
    ),
    expired as (
      delete from live_listeners where listens_until < now() - make_interval(hours => ${OLD_HOURS})
    )
    select pg_notify(${CHANNEL}, inserted.id::text) from inserted
  `
}

export async function endListening(db: Db, id: string): Promise<void> {
  await db`delete from live_listeners where id = ${id}`
}

/** Listens on a dedicated connection. `onListening` also runs after each reconnection. */
export const listen = (
  db: Pool,
  onNotice: (text: string) => void,
  onListening: () => void,
): Promise<{ unlisten(): Promise<void> }> => db.listen(CHANNEL, onNotice, onListening)

/** Lists conversations with activity after a time, oldest first. */
export async function listActive(
  db: Db,
  companyId: number,
  after: Date,
  limit: number,
): Promise<{ conversationId: number; activeAt: Date }[]> {
  return db<{ conversationId: number; activeAt: Date }[]>`
    select conversation_id, active_at
    from conversation_activity
    where company_id = ${companyId} and active_at > ${after}
    order by active_at
    limit ${limit}
  `
}
