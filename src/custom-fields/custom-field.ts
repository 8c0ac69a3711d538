import type { Db, Pool } from '../db/connect.ts'
import { changedMembers } from '../http/as-read.ts'
import { customFieldExists, customFieldNotFound, validationError } from '../platform/errors.ts'
import {
  type CustomFieldRequest,
  FIELD_SERVICE_MEMBERS,
  SELECT_ONLY,
  toCustomFieldReply,
} from './custom-field-shape.ts'
import {
  type CustomField,
  insertCustomField,
  lockCustomField,
  lockCustomFields,
  type NewCustomField,
  readCustomFields,
  updateCustomFieldRow,
  writeCustomFieldOrder,
} from './custom-field-store.ts'

const UNCATEGORIZED = 'uncategorized'

type CustomFieldGroup = { category: string; fields: CustomField[] }

/** Creates a custom field (spec: Custom fields). Throws 409 if the key exists. */
export async function createCustomField(db: Db, companyId: number, definition: NewCustomField): Promise<CustomField> {
  const created = await insertCustomField(db, companyId, { ...definition, source: 'Manual' })
  if (created === undefined) throw customFieldExists(definition.key)
  return created
}

export async function listCustomFields(db: Db, companyId: number, includeRetired: boolean): Promise<CustomField[]> {
  const fields = await readCustomFields(db, companyId)
  return includeRetired ? fields : fields.filter(({ retiredAt }) => retiredAt === null)
}

/** Groups definitions by category, by name, uncategorized last. */
export function groupCustomFields(fields: readonly CustomField[]): CustomFieldGroup[] {
  const groups = Map.groupBy(fields, (field) => field.category ?? UNCATEGORIZED)
  return [...groups].map(([category, members]) => ({ category, fields: members })).sort(byName)
}

function byName(one: CustomFieldGroup, other: CustomFieldGroup): number {
  if (one.category === UNCATEGORIZED) return 1
  if (other.category === UNCATEGORIZED) return -1
  return one.category < other.category ? -1 : 1
}

/** Updates a definition. Throws 422 for allowed values without type select, or a changed key or type. */
export async function changeCustomField(
  db: Pool,
  companyId: number,
  id: number,
  request: CustomFieldRequest,
): Promise<CustomField> {
  return db.begin(async (tx) => {
    const stored = await lockCustomField(tx, companyId, id)
    if (stored === undefined) throw customFieldNotFound()
    const { changes, faults } = changedMembers(request, toCustomFieldReply(stored), FIELD_SERVICE_MEMBERS)
    const { allowedValues, ...change } = changes
    if (allowedValues !== undefined && stored.type !== 'select')
      faults.push({ path: 'allowedValues', message: SELECT_ONLY })
    else if (allowedValues === null)
      faults.push({ path: 'allowedValues', message: 'must be given for the type select' })
    if (faults.length > 0) throw validationError(faults)
    const isChanged = Object.keys(changes).length > 0
    const changed = isChanged
      ? await updateCustomFieldRow(tx, companyId, id, { ...change, allowedValues: allowedValues ?? undefined })
      : stored
    if (changed === undefined) throw customFieldNotFound()
    return changed
  })
}

/** Reorders definitions and returns all; throws 404 for an unknown id. */
export async function orderCustomFields(db: Pool, companyId: number, ids: readonly number[]): Promise<CustomField[]> {
  return db.begin(async (tx) => {
    await lockCustomFields(tx, companyId)
    const ordered = inOrder(await readCustomFields(tx, companyId), ids)
    const orderedIds = ordered.map(({ id }) => id)
    await writeCustomFieldOrder(tx, companyId, orderedIds)
    return ordered
  })
}

function inOrder(fields: readonly CustomField[], ids: readonly number[]): CustomField[] {
  const byId = new Map(fields.map((field) => [field.id, field]))
  const named = ids.map((id) => {
    const field = byId.get(id)
    if (field === undefined) throw customFieldNotFound()
    return field
  })
  const namedIds = new Set(ids)
  return [...named, ...fields.filter(({ id }) => !namedIds.has(id))]
}
