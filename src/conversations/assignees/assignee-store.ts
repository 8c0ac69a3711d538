import type { Db } from '../../db/connect.ts'

type Assignee = {
  name: string
  /** Start of the last session with this name; null: known from API assignments only. */
  signedInAt: Date | null
}

export const MAX_ASSIGNEES = 1_000

/** Lists names, most recent sign-in first. */
export const listAssignees = (db: Db, companyId: number): Promise<Assignee[]> => db<Assignee[]>`
  select name, signed_in_at
  from assignees
  where company_id = ${companyId}
  order by signed_in_at desc nulls last, name
  limit ${MAX_ASSIGNEES}`

export async function keepAssignee(db: Db, companyId: number, name: string): Promise<void> {
  const added = await db`
    insert into assignees (company_id, name)
    values (${companyId}, ${name})
    on conflict (company_id, name) do nothing`
  if (added.count > 0) await deleteOldestAssignees(db, companyId)
}

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

export const MAX_ASSIGNEE_CHARACTERS = 100

/** Keeps a session's name, so that it can be assigned after the session ends. */
export async function rememberSignIn(db: Db, companyId: number, sessionName: string): Promise<void> {
  const name = sessionName.trim()
  if (name !== '' && name.length <= MAX_ASSIGNEE_CHARACTERS) await keepSignedIn(db, companyId, name)
}
