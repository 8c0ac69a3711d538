import { type Static, Type } from 'typebox'
import { asRead } from '../http/as-read.ts'
import { nullableText, nullableTime } from '../http/shapes.ts'
import { type AppError, type FieldFault, missingRequiredFields, validationError } from '../platform/errors.ts'
import { isRecord, memberOf, textFaults } from '../platform/text/json-text.ts'
import type { CustomField, NewCustomField } from './custom-field-store.ts'

const TYPES = ['text', 'number', 'boolean', 'date', 'datetime', 'select', 'json'] as const
const KEY = /^[A-Z][A-Z0-9_]{0,63}$/
export const SELECT_ONLY = 'must be given for the type select only'
const METADATA_MAX_BYTES = 64 * 1024

const CustomFieldTypeShape = Type.Unsafe<CustomField['type']>({ type: 'string', enum: [...TYPES] })

const allowedValues = (description: string) =>
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

export const CustomFieldReply = Type.Object(
  {
    id: Type.Integer(),
    key: Type.String({ description: 'Key in upper case.' }),
    displayName: Type.String({ description: 'Label to show.' }),
    type: CustomFieldTypeShape,
    category: nullableText('Field group.'),
    visibility: Type.Boolean({ description: 'Whether the field is visible.' }),
    source: Type.String({ description: '`Manual` for fields created through the API.' }),
    allowedValues: Type.Unsafe<string[] | null>({
      type: ['array', 'null'],
      items: { type: 'string' },
      description: 'Allowed values, for type `select`.',
    }),
    metadata: Type.Unsafe<Record<string, unknown> | null>({
      type: ['object', 'null'],
      additionalProperties: true,
      description: 'Any JSON members.',
    }),
    retiredAt: nullableTime('When the field was retired; null if in use.'),
  },
  {
    title: 'CustomField',
    example: {
      id: 9,
      key: 'LOYALTY_TIER',
      displayName: 'Loyalty tier',
      type: 'select',
      category: 'Loyalty',
      visibility: true,
      source: 'Manual',
      allowedValues: ['silver', 'gold'],
      metadata: null,
      retiredAt: null,
    },
  },
)

export const FIELD_SERVICE_MEMBERS = ['id', 'key', 'type', 'source', 'metadata', 'retiredAt'] as const

/** Can take a record as it was read. */
export const CustomFieldChangeShape = Type.Object(
  {
    displayName: Type.Optional(Type.String({ minLength: 1, maxLength: 200, description: 'Label to show.' })),
    category: Type.Optional(
      Type.Unsafe<string | null>({
        type: ['string', 'null'],
        maxLength: 100,
        description: 'Field group; null or empty for none.',
      }),
    ),
    visibility: Type.Optional(Type.Boolean({ description: 'Whether the field is visible.' })),
    allowedValues: Type.Optional(
      Type.Unsafe<string[] | null>({
        ...allowedValues('Allowed values, for type `select` only; null for other types. Stored values stay.'),
        type: ['array', 'null'],
      }),
    ),
    retired: Type.Optional(Type.Boolean({ description: 'Whether the field is retired; false restores it.' })),
    ...Object.fromEntries(FIELD_SERVICE_MEMBERS.map((name) => [name, asRead(CustomFieldReply.properties[name])])),
  },
  { title: 'CustomFieldChange', example: { displayName: 'Tier', category: 'Loyalty' } },
)

export type CustomFieldRequest = Static<typeof CustomFieldChangeShape>

export const GroupedCustomFields = Type.Object(
  {
    groups: Type.Array(
      Type.Object({
        category: Type.String(),
        fields: Type.Array(
          Type.Object({
            id: Type.Integer(),
            key: Type.String(),
            displayName: Type.String(),
            type: CustomFieldTypeShape,
          }),
        ),
      }),
    ),
    total: Type.Integer({ description: 'Number of fields in all groups.' }),
  },
  {
    title: 'CustomFieldGroups',
    example: {
      groups: [
        {
          category: 'Loyalty',
          fields: [{ id: 9, key: 'LOYALTY_TIER', displayName: 'Loyalty tier', type: 'select' }],
        },
      ],
      total: 1,
    },
  },
)

export const toCustomFieldReply = ({ allowedValues, retiredAt, ...field }: CustomField) => ({
  ...field,
  allowedValues: allowedValues && [...allowedValues],
  retiredAt: retiredAt?.toISOString() ?? null,
})

export const toGroupedField = ({ id, key, displayName, type }: CustomField) => ({ id, key, displayName, type })

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
