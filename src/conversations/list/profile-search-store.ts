import { type Db, type Fragment, sql } from '../../db/connect.ts'

/** How many of the newest conversations show whether many match. */
const SAMPLE = 500

/** Whether the index would find more than a tenth of the newest conversations. */
export async function areManyProfiles(db: Db, companyId: number, trigrams: readonly string[]): Promise<boolean> {
  const [row] = await db<{ held: number }[]>`
    select count(*) filter (where ${holding(trigrams)}) as held
    from (
      select existing.profile_search
      from conversations existing
      where existing.company_id = ${companyId}
      order by existing.id desc
      limit ${SAMPLE}
    ) as conversation
  `
  return (row?.held ?? 0) > SAMPLE / 10
}

/**
 * The ids of conversations whose profile name contains a text, in no order, among those that the index finds for its
 * trigrams, of which `limit` are looked at; whether these were all.
 */
export async function selectByProfile(
  db: Db,
  companyId: number,
  text: string,
  trigrams: readonly string[],
  limit: number,
): Promise<{ ids: number[]; areAll: boolean }> {
  const [row] = await db<{ examined: number; ids: number[] }[]>`
    select
      count(*) as examined,
      coalesce(array_agg(found.id) filter (where strpos(found.profile_search, ${text}) > 0), '{}') as ids
    from (
      select conversation.id, conversation.profile_search
      from conversations conversation
      where conversation.company_id = ${companyId}
        and conversation.profile_search is not null
        and ${holding(trigrams)}
      limit ${limit}
    ) as found
  `
  const { examined, ids } = row ?? { examined: 0, ids: [] }
  return { ids, areAll: examined < limit }
}

const holding = (trigrams: readonly string[]): Fragment =>
  trigrams
    .map((trigram) => sql`conversation.profile_search like ${`%${trigram}%`}`)
    .reduce((before, next) => sql`${before} and ${next}`)
