import { isRecord } from '../record.ts'
import type { Media } from './responses.ts'

const FORM_TYPES = new Set(['multipart/form-data', 'application/x-www-form-urlencoded'])

/** Replaces a form's JSON schema by a flat object, with fields such as `customFields.CITY`. */
export function showForm(mimeType: string, media: Media): void {
  if (FORM_TYPES.has(mimeType) && isRecord(media.schema)) media.schema = formOf(media.schema)
}

function formOf(schema: Record<string, unknown>): Record<string, unknown> {
  const [choice] = Array.isArray(schema.anyOf) ? schema.anyOf : []
  const shape = isRecord(choice) ? choice : schema
  const members = Object.entries(isRecord(shape.properties) ? shape.properties : {})
  const open = members.filter(([, member]) => isRecord(member) && member.type === 'object' && !member.properties)
  return {
    ...shape,
    title: `${shape.title}Form`,
    description: 'The members mean the same as in JSON.',
    properties: flatten(
      members.filter((one) => !open.includes(one)).map(([name, member]) => [name, undescribed(member)]),
      propertiesOf,
    ),
    ...(open.length > 0 && {
      patternProperties: Object.fromEntries(open.map(([name]) => [`^${name}\\.`, { type: 'string' }])),
    }),
    ...(isRecord(shape.example) && { example: flatten(Object.entries(shape.example), asRecord) }),
  }
}

function undescribed(member: unknown): unknown {
  if (!isRecord(member)) return member
  const { description: _, properties, ...rest } = member
  if (!isRecord(properties)) return rest
  const inner = Object.entries(properties).map(([name, one]) => [name, undescribed(one)])
  return { ...rest, properties: Object.fromEntries(inner) }
}

function flatten(
  members: [string, unknown][],
  innerOf: (member: unknown) => Record<string, unknown> | undefined,
): Record<string, unknown> {
  return Object.fromEntries(
    members.flatMap(([name, member]) => {
      const inner = innerOf(member)
      if (inner === undefined) return [[name, member]]
      return Object.entries(inner).map(([one, value]) => [`${name}.${one}`, value])
    }),
  )
}

const asRecord = (value: unknown) => (isRecord(value) ? value : undefined)
const propertiesOf = (shape: unknown) => (isRecord(shape) ? asRecord(shape.properties) : undefined)
