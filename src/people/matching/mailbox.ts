import type { Db, Pool } from '../../db/connect.ts'
import { inputRows } from '../../db/input-rows.ts'
import { sqlState } from '../../db/pool/failure.ts'
import { duplicateResource } from '../../platform/errors.ts'
import { emailKey, storedKeys } from '../../platform/text/email-address.ts'
import { addressIdentity } from '../consent/consent.ts'
import { refreshConsents } from '../consent/shown-consent.ts'
import { anyCompany, emailPlace } from '../contact-store.ts'

const UNIQUE_VIOLATION = '23505'

/**
 * Moves rows with other domain spellings to their keys: until 2026, each spelling was an address itself, and hashed
 * rows can only be found by address. Returns contacts sharing a mailbox; these must be resolved by hand.
 */
export async function rekeyMailboxes(db: Pool, companyId: number, keys: readonly string[]): Promise<Twins[]> {
  const mailboxes = [...new Set(keys)].flatMap((key) => {
    const [own = key, ...former] = storedKeys(key)
    return former.length === 0 ? [] : [{ key: own, former }]
  })
  if (mailboxes.length === 0) return []
  const twins: Twins[] = []
  for (const mailbox of await findFormerKeys(db, companyId, mailboxes)) {
    twins.push(...(await rekeyMailbox(db, companyId, mailbox)))
  }
  return twins
}

export async function rekeyMailbox(db: Pool, companyId: number, mailbox: Mailbox): Promise<Twins[]> {
  try {
    return await db.begin(async (tx) => {
      const haveMoved = await moveToKey(tx, companyId, mailbox)
      const twins = await keepTwins(tx, companyId, mailbox)
      if (haveMoved || twins.length > 0) {
        await refreshConsents(tx, [{ companyId, identity: addressIdentity(mailbox.key) }])
      }
      return twins
    })
  } catch (error) {
    // Another contact just took the key; the retry finds both.
    if (sqlState(error) === UNIQUE_VIOLATION) return rekeyMailbox(db, companyId, mailbox)
    throw error
  }
}

/** Throws 409 `duplicate_resource` for a mailbox shared by two contacts. */
export function refuseTwins(twins: readonly Twins[]): void {
  const [twin] = twins
  if (twin !== undefined) throw duplicateResource(`The ${sharedMailbox(twin)}`)
}

export const sharedMailbox = ({ contactId, otherId }: Pick<Twins, 'contactId' | 'otherId'>): string =>
  `contacts ${contactId} and ${otherId} have one mailbox under two spellings of its domain: change the email of one, or delete it`

const MAX_TWINS = 1_000

export async function findTwins(db: Db): Promise<TwinRow[]> {
  const twins = await listTwins(db, MAX_TWINS)
  return twins.filter(({ key, otherKey }) => emailKey(key) === emailKey(otherKey))
}

/** A mailbox key and its former stored spellings. */
type Mailbox = { readonly key: string; readonly former: readonly string[] }

/** Returns mailboxes with a living contact or ledger entry under a former spelling. */
async function findFormerKeys(db: Db, companyId: number, mailboxes: readonly Mailbox[]): Promise<readonly Mailbox[]> {
  const rows = mailboxes.flatMap(({ former }, place) => former.map((text) => ({ place, text })))
  const found = await db<{ place: number }[]>`
    select distinct input.place
    from ${inputRows(rows, { integer: ['place'], text: ['text'] })}
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
async function moveToKey(tx: Db, companyId: number, { key, former }: Mailbox): Promise<boolean> {
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
async function keepTwins(tx: Db, companyId: number, { key, former }: Mailbox): Promise<Twins[]> {
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

type TwinRow = {
  readonly companyId: number
  readonly contactId: number
  readonly otherId: number
  readonly key: string
  readonly otherKey: string
}

const listTwins = (db: Db, limit: number): Promise<TwinRow[]> =>
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
