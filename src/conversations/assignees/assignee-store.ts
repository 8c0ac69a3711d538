import type { Db } from '../../db/connect.ts'

/** A name that conversations can be assigned to. */
export type Assignee = {
  name: string
  /** The last time that a session of this name began; null: conversations were assigned to it by the API alone. */
  signedInAt: Date | null
}

/** Names of one company: back offices choose those of their sessions, and the API any. */
export const MAX_ASSIGNEES = 1_000

/** The names, those that signed in last first. */
export const listAssignees = (db: Db, companyId: number): Promise<Assignee[]> => db<Assignee[]>`
  select name, signed_in_at
  from assignees
  where company_id = ${companyId}
  order by signed_in_at desc nulls last, name
  limit ${MAX_ASSIGNEES}`

/** Keeps a name that a conversation is assigned to. */
export async function keepAssignee(db: Db, companyId: number, name: string): Promise<void> {
  const added = await db`
    insert into assignees (company_id, name)
    values (${companyId}, ${name})
    on conflict (company_id, name) do nothing`
  if (added.count > 0) await deleteOldestAssignees(db, companyId)
}

/** Keeps the name of a session that begins. */
export async function keepSignedIn(db: Db, companyId: number, name: string): Promise<void> {
  await db`
    insert into assignees (company_id, name, signed_in_at)
    values (${companyId}, ${name}, now())
    on conflict (company_id, name) do update set signed_in_at = excluded.signed_in_at`
  await deleteOldestAssignees(db, companyId)
}

async function deleteOldestAssignees(db: Db, companyId: number): Promise<void> {
  await db`
    delete from assignees
    where company_id = ${companyId} and name in (
      select name
      from assignees
      where company_id = ${companyId}
      order by signed_in_at desc nulls last, name
      offset ${MAX_ASSIGNEES}
    )`
}
