import type { Pool } from '../db/connect.ts'

/** Contacts whose words go into the index in one transaction: it is short, and a merge of the index pays. */
const CONTACTS_AT_ONCE = 2_000

/**
 * Folds what changed into the count and the search index, as much as goes in at once; answers whether there may be more.
 * One process does it at a time, since who read a contact earlier must not write it later; another answers no.
 */
export async function foldContactChanges(db: Pool): Promise<boolean> {
  return db.begin('isolation level read committed', async (tx) => {
    const [lock] = await tx<{ held: boolean }[]>`
      select pg_try_advisory_xact_lock(hashtextextended('contact_changes are being folded', 1)) as held
    `
    if (lock?.held !== true) return false
    const [row] = await tx<{ contacts: number }[]>`
      with waiting as (
        select company_id, id, change, contact_ids, sum(cardinality(contact_ids)) over (order by id) as contacts
        from contact_changes
        order by id
        limit ${CONTACTS_AT_ONCE}
      ),
      taken as materialized (
        select *
        from waiting
        where contacts - cardinality(contact_ids) < ${CONTACTS_AT_ONCE}
      ),
      folded as (
        delete from contact_changes
        using taken
        where (contact_changes.company_id, contact_changes.id) = (taken.company_id, taken.id)
      ),
      counted as (
        insert into contact_counts as counts (company_id, living)
        select company_id, sum(change)
        from taken
        group by company_id
        on conflict (company_id) do update set living = counts.living + excluded.living
      ),
      named as materialized (
        select contacts.company_id, contacts.id, contacts.deleted_at is null as lives, contacts.search_text
        from (select distinct company_id, unnest(contact_ids) as id from taken) as touched
        cross join lateral (
          select *
          from contacts
          where (contacts.company_id, contacts.id) = (touched.company_id, touched.id)
          limit 1
        ) as contacts
      ),
      forgotten as (
        delete from contact_words
        using named
        where (contact_words.company_id, contact_words.contact_id) = (named.company_id, named.id) and not named.lives
      ),
      indexed as (
        insert into contact_words as kept (company_id, contact_id, words)
        select company_id, id, search_text
        from named
        where lives and search_text <> ''
        order by company_id, id
        on conflict (company_id, contact_id) do update
        set words = excluded.words
        where kept.words <> excluded.words
      )
      select coalesce(max(contacts), 0)::bigint as contacts from taken
    `
    return (row?.contacts ?? 0) >= CONTACTS_AT_ONCE
  })
}
