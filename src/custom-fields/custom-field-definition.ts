import { type Static, Type } from 'typebox'
import { type AppError, type FieldFault, missingRequiredFields, validationError } from '../platform/errors.ts'
import { isRecord, memberOf, textFaults } from '../platform/text/json-text.ts'
import type { CustomField, NewCustomField } from './custom-field-store.ts'

const TYPES = ['text', 'number', 'boolean', 'date', 'datetime', 'select', 'json'] as const
const KEY = /^[A-Z][A-Z0-9_]{0,63}$/
export const SELECT_ONLY = 'must be given for the type select only'
const METADATA_MAX_BYTES = 64 * 1024

export const CustomFieldTypeShape = Type.Unsafe<CustomField['type']>({ type: 'string', enum: [...TYPES] })

export const allowedValues = (description: string) =>
  Type.Array(Type.String({ minLength: 1, maxLength: 200 }), {
    minItems: 1,
    maxItems: 1000,
    uniqueItems: true,
    description,
  })

export const CustomFieldBodyShape = Type.Object(
  {
    key: Type.String({
      maxLength: 64,
      description: 'Key, stored in upper case: a letter, then letters, digits and _.',
    }),
    displayName: Type.String({ maxLength: 200, description: 'Label to show.' }),
    type: CustomFieldTypeShape,
    category: Type.Optional(
      Type.Unsafe<string | null>({ type: ['string', 'null'], maxLength: 100, description: 'Field group.' }),
    ),
    visibility: Type.Optional(Type.Boolean({ default: true, description: 'Whether the field is visible.' })),
    allowedValues: Type.Optional(allowedValues('Allowed values; required for type `select`, forbidden for others.')),
    metadata: Type.Optional(
      Type.Unsafe<Record<string, unknown>>({
        type: 'object',
        additionalProperties: true,
        description: 'Any JSON members.',
      }),
    ),
  },
  {
    title: 'NewCustomField',
    example: {
      key: 'LOYALTY_TIER',
      displayName: 'Loyalty tier',
      type: 'select',
      category: 'Loyalty',
      allowedValues: ['silver', 'gold'],
    },
  },
)

type Body = Static<typeof CustomFieldBodyShape>

/** Parses a body. Throws 400 `Missing required fields`, or 422 `validation_error` with all faults. */
export function parseCustomField(body: Body): NewCustomField {
  const missing = refuseMissing([], body)
  if (missing !== undefined) throw missing
  const faults = customFieldFaults(body)
  if (faults.length > 0) throw validationError(faults)
  return {
    key: body.key.toUpperCase(),
    displayName: body.displayName,
    type: body.type,
    category: body.category || null,
    visibility: body.visibility ?? true,
    allowedValues: body.allowedValues ?? null,
    metadata: body.metadata ?? null,
  }
}

/** Returns the error for missing required members, if any. */
export const refuseMissing = (_faults: readonly FieldFault[], body: unknown): AppError | undefined =>
  isRecord(body) && ['key', 'displayName', 'type'].some((name) => isEmpty(memberOf(body, name)))
    ? missingRequiredFields()
    : undefined

const isEmpty = (value: unknown): boolean => value === undefined || value === null || value === ''

export function customFieldFaults(body: Partial<Body>): FieldFault[] {
  const faults = Object.keys(CustomFieldBodyShape.properties).flatMap((name) =>
    textFaults(Object.getOwnPropertyDescriptor(body, name)?.value, name),
  )
  if (body.key !== undefined && !KEY.test(body.key.toUpperCase())) {
    faults.push({ path: 'key', message: 'must begin with a letter and hold only letters, digits and _' })
  }
  if (body.type === 'select' && body.allowedValues === undefined) {
    faults.push({ path: 'allowedValues', message: 'must be given for the type select' })
  }
  if (body.type !== undefined && body.type !== 'select' && body.allowedValues !== undefined) {
    faults.push({ path: 'allowedValues', message: SELECT_ONLY })
  }
  if (faults.length === 0 && Buffer.byteLength(JSON.stringify(body.metadata ?? {})) > METADATA_MAX_BYTES) {
    faults.push({ path: 'metadata', message: `must not be larger than ${METADATA_MAX_BYTES} bytes` })
  }
  return faults
}
