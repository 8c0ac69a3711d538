import type { Db } from '../db/connect.ts'

export async function listConversationsOf(db: Db, companyId: number, contactId: number): Promise<number[]> {
  const rows = await db<{ id: number }[]>`
    select conversation.id
    from customers customer
    join conversations conversation
      on (conversation.company_id, conversation.customer_id) = (customer.company_id, customer.id)
    where (customer.company_id, customer.contact_id) = (${companyId}, ${contactId})
  `
  return rows.map(({ id }) => id)
}

/** Finds up to `limit` edits and revokes by these writers, also without message; returns wamids. */
export async function findChanges(
  db: Db,
  companyId: number,
  writers: readonly string[],
  limit: number,
): Promise<string[]> {
  const rows = await db<{ wamid: string }[]>`
    select wamid
    from message_changes
    where company_id = ${companyId} and writers && ${[...writers]}::text[]
    limit ${limit}
  `
  return rows.map(({ wamid }) => wamid)
}

export async function deleteChanges(db: Db, companyId: number, wamids: readonly string[]): Promise<void> {
  await db`delete from message_changes where company_id = ${companyId} and wamid = any(${[...wamids]}::text[])`
}

export type ReactionBatch = { wamids: string[]; last: string | null }

/** Scans `limit` reactions after a wamid for these writers. */
export async function findReactions(
  db: Db,
  companyId: number,
  writers: readonly string[],
  after: string,
  limit: number,
): Promise<ReactionBatch> {
  const [step] = await db<ReactionBatch[]>`
    select
      coalesce(array_agg(step.wamid) filter (where step.writers && ${[...writers]}::text[]), '{}') as wamids,
      max(step.wamid) as last
    from (
      select wamid, writers
      from message_reactions
      where company_id = ${companyId} and wamid > ${after}
      order by wamid
      limit ${limit}
    ) as step
  `
  return step ?? { wamids: [], last: null }
}

export async function deleteReactions(db: Db, companyId: number, wamids: readonly string[]): Promise<void> {
  await db`delete from message_reactions where company_id = ${companyId} and wamid = any(${[...wamids]}::text[])`
}

/** Deletes up to `limit` waiting statuses; returns how many. */
export async function eraseWaitingStatuses(
  db: Db,
  companyId: number,
  recipients: readonly string[],
  limit: number,
): Promise<number> {
  const erased = await db`
    delete from waiting_statuses
    where (company_id, id) in (
      select company_id, id
      from waiting_statuses
      where company_id = ${companyId} and recipients && ${[...recipients]}::text[]
      limit ${limit}
    )
  `
  return erased.count
}
