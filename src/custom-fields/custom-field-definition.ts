import { type Static, Type } from 'typebox'
import { Compile } from 'typebox/compile'
import { badRequest, type FieldFault, missingRequiredFields, validationError } from '../errors.ts'
import { textFaults } from '../text/storable-text.ts'
import type { CustomField, NewCustomField } from './custom-field-store.ts'

const TYPES = ['text', 'number', 'boolean', 'date', 'datetime', 'select', 'json'] as const
const KEY = /^[A-Z][A-Z0-9_]{0,63}$/
/** What is wrong with the allowed values of another type. */
export const SELECT_ONLY = 'must be given for the type select only'
const METADATA_MAX_BYTES = 64 * 1024

export const CustomFieldTypeShape = Type.Unsafe<CustomField['type']>({ type: 'string', enum: [...TYPES] })

const allowedValues = (description: string) =>
  Type.Array(Type.String({ minLength: 1, maxLength: 200 }), {
    minItems: 1,
    maxItems: 1000,
    uniqueItems: true,
    description,
  })

/** The body that defines a custom field. */
export const CustomFieldBodyShape = Type.Object(
  {
    key: Type.String({
      maxLength: 64,
      description: 'The key, which is stored in upper case: a letter, then letters, digits and _.',
    }),
    displayName: Type.String({ maxLength: 200, description: 'The label to show.' }),
    type: CustomFieldTypeShape,
    category: Type.Optional(
      Type.Unsafe<string | null>({ type: ['string', 'null'], maxLength: 100, description: 'The group of the field.' }),
    ),
    visibility: Type.Optional(Type.Boolean({ default: true, description: 'Whether the field is visible.' })),
    allowedValues: Type.Optional(
      allowedValues('The values that may be chosen; required for the type `select`, and not allowed for another.'),
    ),
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

/** The body that changes a definition. */
export const CustomFieldChangeShape = Type.Object(
  {
    displayName: Type.Optional(Type.String({ minLength: 1, maxLength: 200, description: 'The label to show.' })),
    category: Type.Optional(
      Type.Unsafe<string | null>({
        type: ['string', 'null'],
        maxLength: 100,
        description: 'The group of the field; null or empty for none.',
      }),
    ),
    visibility: Type.Optional(Type.Boolean({ description: 'Whether the field is visible.' })),
    allowedValues: Type.Optional(
      allowedValues('The values that may be chosen, for the type `select` only. Stored values stay.'),
    ),
    retired: Type.Optional(
      Type.Boolean({ description: 'Whether the field is not offered any more; false offers it again.' }),
    ),
  },
  { title: 'CustomFieldChange', example: { displayName: 'Tier', category: 'Loyalty' } },
)

type Body = Static<typeof CustomFieldBodyShape>

const shape = Compile(CustomFieldBodyShape)

/** Untrusted body → definition. 400 `Missing required fields`, 422 `validation_error` naming every fault. */
export function parseCustomField(body: unknown): NewCustomField {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) throw badRequest('The body must be an object')
  if (['key', 'displayName', 'type'].some((name) => isMissing(body, name))) throw missingRequiredFields()
  const faults = bodyFaults(body)
  if (faults.length > 0 || !shape.Check(body)) throw validationError(faults)
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

const isMissing = (body: object, name: string): boolean =>
  [undefined, null, ''].includes(Object.getOwnPropertyDescriptor(body, name)?.value)

const shapeFaults = (body: object): FieldFault[] =>
  [...shape.Errors(body)].map((fault) => ({
    path: fault.instancePath.slice(1).replaceAll('/', '.'),
    message: fault.message,
  }))

function bodyFaults(body: object): FieldFault[] {
  if (shape.Check(body)) return valueFaults(body)
  const faults = shapeFaults(body)
  const isAtFault = (name: string) => faults.some(({ path }) => path === name || path.startsWith(`${name}.`))
  const fitting: Partial<Body> = Object.fromEntries(Object.entries(body).filter(([name]) => !isAtFault(name)))
  return [...faults, ...valueFaults(fitting)]
}

/** Of a body, or of the members whose shape is right. */
function valueFaults(body: Partial<Body>): FieldFault[] {
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
