import { type Db, jsonRows } from '../../db/connect.ts'
import { anyCompany, emailPlace } from '../../people/contact-store.ts'

/** A mailbox key and its former stored spellings. */
export type Mailbox = { readonly key: string; readonly former: readonly string[] }

/** Returns mailboxes with a living contact or ledger entry under a former spelling. */
export async function findFormerKeys(
  db: Db,
  companyId: number,
  mailboxes: readonly Mailbox[],
): Promise<readonly Mailbox[]> {
  const rows = mailboxes.flatMap(({ former }, place) => former.map((text) => ({ place, text })))
  const found = await db<{ place: number }[]>`
    select distinct input.place
    from jsonb_to_recordset(${jsonRows(db, rows)}) as input (place integer, text text)
    where exists (
        select
        from contacts
        where contacts.company_id = ${anyCompany(companyId)}
          and ${emailPlace} = input.text
          and contacts.deleted_at is null
      )
      or exists (
        select
        from unnest(array['mailto:' || input.text, keyed_hash(${companyId}, 'mailto:' || input.text)]) as form (identity)
        join consents on (consents.company_id, consents.identity) = (${companyId}, form.identity)
      )
  `
  return mailboxes.filter((_, index) => found.some(({ place }) => place === index))
}

/** Moves all entries, and the oldest contact unless the key is taken. Returns whether entries moved. */
export async function moveToKey(tx: Db, companyId: number, { key, former }: Mailbox): Promise<boolean> {
  const moved = await tx<{ entries: number }[]>`
    with former as (
      select text, keyed_hash(${companyId}, 'mailto:' || text) as hash from unnest(${[...former]}::text[]) as text
    ),
    taken as (
      update contacts
      set email_key = ${key}
      where (contacts.company_id, contacts.id) = (
          ${companyId},
          (
            select min(contacts.id)
            from contacts
            where contacts.company_id = ${companyId}
              and ${emailPlace} in (select text from former)
              and contacts.deleted_at is null
          )
        )
        and not exists (
          select
          from contacts
          where contacts.company_id = ${companyId}
            and ${emailPlace} = ${key}
            and contacts.deleted_at is null
        )
    ),
    moved as (
      update consents
      set identity = case when consents.identity = former.hash then keyed_hash(${companyId}, ${`mailto:${key}`}) else ${`mailto:${key}`} end
      from former
      where consents.company_id = ${companyId} and consents.identity in ('mailto:' || former.text, former.hash)
      returning consents.id
    )
    select count(*) as entries from moved
  `
  return (moved[0]?.entries ?? 0) > 0
}

/** The contact with the mailbox key, and one with a former spelling. */
export type Twins = { readonly key: string; readonly contactId: number; readonly otherId: number }

/** Finds living contacts sharing a mailbox and records them for the doctor. */
export async function keepTwins(tx: Db, companyId: number, { key, former }: Mailbox): Promise<Twins[]> {
  return tx<Twins[]>`
    with twin as (
      select owner.id as contact_id, holder.id as other_id
      from (
        select contacts.id
        from contacts
        where contacts.company_id = ${companyId} and ${emailPlace} = ${key} and contacts.deleted_at is null
      ) as owner
      cross join unnest(${[...former]}::text[]) as text
      cross join lateral (
        select contacts.id
        from contacts
        where contacts.company_id = ${companyId} and ${emailPlace} = text and contacts.deleted_at is null
      ) as holder
    ),
    kept as (
      insert into mailbox_twins (company_id, contact_id, other_id)
      select ${companyId}, contact_id, other_id from twin
      on conflict (company_id, other_id) do update  set contact_id = excluded.contact_id
    )
    select ${key}::text as key, contact_id, other_id from twin
  `
}

export async function listHolders(db: Db, companyId: number, keys: readonly string[]): Promise<number[]> {
  const rows = await db<{ id: number }[]>`
    select contacts.id
    from contacts
    where contacts.company_id = ${companyId} and ${emailPlace} = any (${[...keys]}::text[]) and contacts.deleted_at is null
  `
  return rows.map(({ id }) => id)
}

export type TwinRow = {
  readonly companyId: number
  readonly contactId: number
  readonly otherId: number
  readonly key: string
  readonly otherKey: string
}

export const listTwins = (db: Db, limit: number): Promise<TwinRow[]> =>
  db<TwinRow[]>`
    select twin.company_id, twin.contact_id, twin.other_id, contact.email_key as key, other.email_key as other_key
    from mailbox_twins twin
    join contacts contact on (contact.company_id, contact.id) = (twin.company_id, twin.contact_id)
    join contacts other on (other.company_id, other.id) = (twin.company_id, twin.other_id)
    where contact.deleted_at is null and other.deleted_at is null
      and contact.email_key is not null and other.email_key is not null
    order by twin.company_id, twin.contact_id, twin.other_id
    limit ${limit}
  `
