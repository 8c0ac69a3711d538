import { type Db, type Json, sql } from '../db/connect.ts'

type CustomFieldType = 'text' | 'number' | 'boolean' | 'date' | 'datetime' | 'select' | 'json'

export type CustomField = {
  readonly id: number
  readonly key: string
  readonly displayName: string
  readonly type: CustomFieldType
  readonly category: string | null
  readonly visibility: boolean
  readonly source: string
  readonly allowedValues: readonly string[] | null
  readonly metadata: Readonly<Record<string, unknown>> | null
  readonly retiredAt: Date | null
}

export type NewCustomField = Omit<CustomField, 'id' | 'source' | 'retiredAt'>

export type CustomFieldChange = {
  readonly displayName?: string | undefined
  readonly category?: string | null | undefined
  readonly visibility?: boolean | undefined
  readonly allowedValues?: readonly string[] | undefined
  readonly retired?: boolean | undefined
}

const json = (db: Db, value: unknown) => (value === null ? null : db.json(value as Json))

const columns = sql`
  id, key, display_name, type, category, visibility, source, allowed_values, metadata, retired_at
`

/** Inserts a definition; returns undefined if the key is taken. */
export async function insertCustomField(
  db: Db,
  companyId: number,
  field: NewCustomField & Pick<CustomField, 'source'>,
): Promise<CustomField | undefined> {
  const [created] = await db<CustomField[]>`
    insert into custom_fields (
      company_id, key, display_name, type, category, visibility, source, allowed_values, metadata
    )
    values (
      ${companyId}, ${field.key}, ${field.displayName}, ${field.type}, ${field.category}, ${field.visibility},
      ${field.source}, ${json(db, field.allowedValues)}, ${json(db, field.metadata)}
    )
    on conflict (company_id, key) do nothing
    returning ${columns}
  `
  return created
}

/** Returns a company's definitions in order; unordered ones last, oldest first. */
export async function readCustomFields(db: Db, companyId: number): Promise<CustomField[]> {
  return db<CustomField[]>`
    select ${columns}
    from custom_fields
    where company_id = ${companyId}
    order by position nulls last, id
  `
}

export async function updateCustomFieldRow(
  db: Db,
  companyId: number,
  id: number,
  change: CustomFieldChange,
): Promise<CustomField | undefined> {
  const [changed] = await db<CustomField[]>`
    update custom_fields
    set
      display_name = coalesce(${change.displayName ?? null}, display_name),
      category = case
        when ${change.category !== undefined} then nullif(${change.category ?? null}::text, '') else category
      end,
      visibility = coalesce(${change.visibility ?? null}, visibility),
      allowed_values = coalesce(${json(db, change.allowedValues ?? null)}, allowed_values),
      retired_at = case
        when ${change.retired === undefined} then retired_at
        when ${change.retired === true} then coalesce(retired_at, now())
      end
    where company_id = ${companyId} and id = ${id}
    returning ${columns}
  `
  return changed
}

export async function lockCustomField(tx: Db, companyId: number, id: number): Promise<CustomField | undefined> {
  const [field] = await tx<CustomField[]>`
    select ${columns} from custom_fields where company_id = ${companyId} and id = ${id} for update
  `
  return field
}

/** Locks a company's definitions by id, so that concurrent reorderings cannot deadlock. */
export async function lockCustomFields(tx: Db, companyId: number): Promise<void> {
  await tx`select from custom_fields where company_id = ${companyId} order by id for update`
}

export async function writeCustomFieldOrder(tx: Db, companyId: number, ids: readonly number[]): Promise<void> {
  await tx`
    update custom_fields field
    set position = place.position
    from unnest(${[...ids]}::bigint[]) with ordinality as place (id, position)
    where field.company_id = ${companyId} and field.id = place.id
  `
}
