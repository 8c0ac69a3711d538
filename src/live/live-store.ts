import type { Db, Pool } from '../db/connect.ts'

const CHANNEL = 'parley_live'
/** Seconds for which a process that has vanished still counts as listening. */
const LISTENING_SECONDS = 10
/** Rows of processes that ended without removing theirs. */
const OLD_HOURS = 1

/** Sends a notice to all listening processes; while none listens, sends nothing. */
export async function notify(db: Db, text: string): Promise<void> {
  await db`
    select pg_notify(${CHANNEL}, ${text})
    from (select from live_listeners where listens_until > now() limit 1) as listening
  `
}

/** Says that this process listens, and sends its id to all listening processes, itself included. */
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

/** Removes this process from those that are notified. */
export async function endListening(db: Db, id: string): Promise<void> {
  await db`delete from live_listeners where id = ${id}`
}

/**
 * Listens on a connection of its own. `onListening` is called each time that listening starts, also after a reconnection.
 */
export const listen = (
  db: Pool,
  onNotice: (text: string) => void,
  onListening: () => void,
): Promise<{ unlisten(): Promise<void> }> => db.listen(CHANNEL, onNotice, onListening)

/** The conversations of a company with activity after a time, at most `limit`, and the time of the latest. */
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
