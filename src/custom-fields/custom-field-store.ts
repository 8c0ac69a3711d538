import type { Db, Json } from '../db/connect.ts'

export type CustomFieldType = 'text' | 'number' | 'boolean' | 'date' | 'datetime' | 'select' | 'json'

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
}

const columns = (db: Db) => db`id, key, display_name, type, category, visibility, source, allowed_values, metadata`

/** Inserts a definition; undefined when the company has one with this key. */
export async function insertCustomField(
  db: Db,
  companyId: number,
  field: Omit<CustomField, 'id'>,
): Promise<CustomField | undefined> {
  const json = (value: unknown) => (value === null ? null : db.json(value as Json))
  const [created] = await db<CustomField[]>`
    insert into custom_fields (
      company_id, key, display_name, type, category, visibility, source, allowed_values, metadata
    )
    values (
      ${companyId}, ${field.key}, ${field.displayName}, ${field.type}, ${field.category}, ${field.visibility},
      ${field.source}, ${json(field.allowedValues)}, ${json(field.metadata)}
    )
    on conflict (company_id, key) do nothing
    returning ${columns(db)}
  `
  return created
}

/** The definitions of a company, oldest first. */
export async function readCustomFields(db: Db, companyId: number): Promise<CustomField[]> {
  return db<CustomField[]>`
    select ${columns(db)}
    from custom_fields
    where company_id = ${companyId}
    order by id
  `
}
