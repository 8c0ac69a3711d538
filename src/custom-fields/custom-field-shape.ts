import { type Static, Type } from 'typebox'
import { asRead } from '../http/as-read.ts'
import { nullableText, nullableTime } from '../http/shapes.ts'
import { allowedValues, CustomFieldTypeShape } from './custom-field-definition.ts'
import type { CustomField } from './custom-field-store.ts'

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

export const toCustomFieldReply = (field: CustomField) => ({
  id: field.id,
  key: field.key,
  displayName: field.displayName,
  type: field.type,
  category: field.category,
  visibility: field.visibility,
  source: field.source,
  allowedValues: field.allowedValues === null ? null : [...field.allowedValues],
  metadata: field.metadata,
  retiredAt: field.retiredAt?.toISOString() ?? null,
})

export const toGroupedField = ({ id, key, displayName, type }: CustomField) => ({ id, key, displayName, type })
