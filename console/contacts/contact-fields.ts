import type { CustomField } from '../../client/src/generated/schemas.ts'
import { isOffered } from '../fields/field-queries.ts'
import { contactText } from '../texts/contacts.ts'
import { typeOf } from './field-value.tsx'

export type ShownField = Pick<CustomField, 'key' | 'displayName' | 'type' | 'allowedValues'>

/**
 * The custom fields that a contact with these values shows: those that are offered, by category in their order; of the
 * retired ones and of members without a definition, those with a value.
 */
export function shownFields(values: Readonly<Record<string, unknown>>, definitions: readonly CustomField[]) {
  const visible = definitions.filter(({ visibility }) => visibility)
  const keys = new Set(definitions.map(({ key }) => key))
  const others = Object.entries(values).filter(([key]) => !keys.has(key))
  return {
    groups: Map.groupBy(visible.filter(isOffered), ({ category }) => category ?? contactText.record.fields),
    retired: visible.filter((field) => !isOffered(field) && hasValue(values[field.key])),
    others: others.map(
      ([key, value]): ShownField => ({ key, displayName: key, type: typeOf(value), allowedValues: null }),
    ),
  }
}

export const hasValue = (value: unknown): boolean => value !== undefined && value !== null && value !== ''
