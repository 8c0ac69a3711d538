import type { Db } from '../db/connect.ts'
import { customFieldExists } from '../errors.ts'
import { type CustomField, insertCustomField, readCustomFields } from './custom-field-store.ts'

/** Where fields without a category are grouped. */
const UNCATEGORIZED = 'uncategorized'

export type CustomFieldGroup = { category: string; fields: CustomField[] }

/** Defines a custom field (spec: Custom fields). 409 naming the key when the company has it already. */
export async function createCustomField(
  db: Db,
  companyId: number,
  definition: Omit<CustomField, 'id' | 'source'>,
): Promise<CustomField> {
  const created = await insertCustomField(db, companyId, { ...definition, source: 'Manual' })
  if (created === undefined) throw customFieldExists(definition.key)
  return created
}

/** All definitions of the company, oldest first. */
export const listCustomFields = readCustomFields

/** The definitions by category: groups in order of their names, those without a category last. */
export async function listCustomFieldGroups(db: Db, companyId: number): Promise<CustomFieldGroup[]> {
  const fields = await readCustomFields(db, companyId)
  const groups = Map.groupBy(fields, (field) => field.category ?? UNCATEGORIZED)
  return [...groups].map(([category, members]) => ({ category, fields: members })).sort(byName)
}

function byName(one: CustomFieldGroup, other: CustomFieldGroup): number {
  if (one.category === UNCATEGORIZED) return 1
  if (other.category === UNCATEGORIZED) return -1
  return one.category < other.category ? -1 : 1
}
