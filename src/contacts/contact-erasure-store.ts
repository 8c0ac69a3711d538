import type { Db } from '../db/connect.ts'

/** The identities of a contact, without those of other living contacts. */
export type Person = {
  readonly email: string | null
  readonly emailKey: string | null
  readonly phone: string | null
  readonly phoneIdentity: string | null
  readonly isLiving: boolean
  /** Phone identities and user ids; without those of other living contacts. */
  readonly identities: readonly string[]
}

/** A contact, living or deleted, that is not erased. */
export async function readPerson(db: Db, companyId: number, id: number): Promise<Person | undefined> {
  const [person] = await db<Person[]>`
    with person as materialized (
      select *
      from contacts
      where (company_id, id) = (${companyId}, ${id}) and erased_at is null
    ),
    known as materialized (
      select phone_identity as identity from person where phone_identity is not null
      union
      select identity from contact_aliases where (company_id, contact_id) = (${companyId}, ${id})
    ),
    identity as (
      select known.identity from known
      union
      select partner.identity
      from partners_of(
        array(select row(${companyId}, known.identity)::customer_key from known order by known.identity)
      ) as partner
    )
    select
      email, phone, phone_identity, deleted_at is null as is_living,
      case
        when not exists (
          select
          from contacts other
          where other.company_id = ${companyId}
            and coalesce(other.email_key, (chr(1114111) || lpad(other.id::text, 16, '0'))) collate "C" = person.email_key
            and other.deleted_at is null
            and other.id <> person.id
        ) then email_key
      end as email_key,
      array(
        select identity.identity
        from identity
        where not exists (
            select
            from contacts other
            where (other.company_id, other.phone_identity) = (${companyId}, identity.identity)
              and other.deleted_at is null
              and other.id <> person.id
          )
          and not exists (
            select
            from contact_aliases other
            where (other.company_id, other.identity) = (${companyId}, identity.identity) and other.contact_id <> person.id
          )
        order by identity.identity
      ) as identities
    from person
  `
  return person
}

/** Erases the row of a deleted contact. It keeps its id, its times and its place in conversations. */
export async function blankContact(tx: Db, companyId: number, id: number): Promise<void> {
  await tx`
    update contacts
    set
      email = null, email_key = null, phone = null, phone_identity = null, first_name = null, last_name = null,
      status = 'erased', source = '', custom_fields = '{}', tags = '{}', email_consent = null, whatsapp_consent = null,
      external_id = null, external_connection_id = null, search_text = '',
      erased_at = statement_timestamp(), updated_at = statement_timestamp()
    where (company_id, id) = (${companyId}, ${id})
  `
}

/**
 * Replaces identities in opt-outs by their keyed hash.
 * @throws PostgresError 23502 when the session has no key for it
 */
export async function hashOptOuts(tx: Db, companyId: number, identities: readonly string[]): Promise<void> {
  await tx`
    with plain as (
      delete from opt_outs
      where company_id = ${companyId} and identity = any(${[...identities]}::text[])
      returning channel, identity, at
    )
    insert into opt_outs (company_id, channel, identity, at)
    select ${companyId}, channel, opt_out_hash(${companyId}, identity), at
    from plain
    on conflict do nothing
  `
}

/** Deletes up to `limit` rows of a contact's consent history; returns how many. */
export async function eraseConsents(db: Db, companyId: number, contactId: number, limit: number): Promise<number> {
  const erased = await db`
    delete from consent_changes
    where (company_id, id) in (
      select company_id, id
      from consent_changes
      where (company_id, contact_id) = (${companyId}, ${contactId})
      order by id
      limit ${limit}
    )
  `
  return erased.count
}

export type RefusalPlace = { importId: number; line: number }

/**
 * Deletes the refused rows of imports that hold one of the texts, among the next `limit` rows. Phones are compared without
 * what may stand between their digits. Returns where to continue; undefined at the end.
 */
export async function eraseRefusals(
  db: Db,
  companyId: number,
  texts: readonly string[],
  after: RefusalPlace | undefined,
  limit: number,
): Promise<RefusalPlace | undefined> {
  const [last] = await db<RefusalPlace[]>`
    with step as materialized (
      select import_id, line, lower(array_to_string(fields, chr(10))) as row
      from contact_import_refusals
      where company_id = ${companyId} and (import_id, line) > (${after?.importId ?? 0}, ${after?.line ?? 0})
      order by import_id, line
      limit ${limit}
    ),
    erased as (
      delete from contact_import_refusals
      where (company_id, import_id, line) in (
        select ${companyId}::bigint, step.import_id, step.line
        from step
        join unnest(${[...texts]}::text[]) as text (value)
          on position(text.value in step.row) > 0
          or position(text.value in regexp_replace(step.row, '[\\s().+-]', '', 'g')) > 0
      )
    )
    select import_id, line from step order by import_id desc, line desc limit 1
  `
  return last
}
