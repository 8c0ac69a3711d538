import { isRecord } from '../record.ts'
import { mapShapes } from '../shapes.ts'
import type { Media } from './responses.ts'

type Shape = Record<string, unknown>

/** Adds the example of a body; a deprecated operation shows only the first of several. */
export function addExample(media: Media, isShort: boolean): void {
  const { schema } = media
  if ('example' in media || media.examples !== undefined || !isRecord(schema)) return
  const named = choicesOf(schema).flatMap(({ title, example }) =>
    typeof title === 'string' && example !== undefined ? [[title, { value: example }]] : [],
  )
  const example = exampleOf(schema)
  if (named.length > 1 && !isShort) media.examples = Object.fromEntries(named)
  else if (example !== undefined) media.example = example
}

const choicesOf = ({ oneOf, anyOf }: Shape): Shape[] => [oneOf, anyOf].flat().filter(isRecord)

function exampleOf(schema: unknown): unknown {
  if (!isRecord(schema)) return undefined
  if ('example' in schema) return schema.example
  if ('const' in schema) return schema.const
  if (Array.isArray(schema.enum)) return schema.enum[0]
  const [choice] = choicesOf(schema)
  if (choice !== undefined) return exampleOf(choice)
  const members = Object.entries(isRecord(schema.properties) ? schema.properties : {})
    .map(([name, member]) => [name, exampleOf(member)])
    .filter(([, value]) => value !== undefined)
  if (members.length > 0) return Object.fromEntries(members)
  const item = exampleOf(schema.items)
  return item === undefined ? undefined : [item]
}

/** Returns a form's JSON schema as a flat object, with fields such as `customFields.CITY`. */
export function formOf(schema: Shape): Shape {
  const [shape = schema] = choicesOf(schema)
  const members = Object.entries(isRecord(shape.properties) ? shape.properties : {})
  const open = members.filter(([, member]) => isRecord(member) && member.type === 'object' && !member.properties)
  const closed = members
    .filter((one) => !open.includes(one))
    .map(([name, member]) => [name, undescribed(member)] as const)
  return {
    ...shape,
    title: `${shape.title}Form`,
    description: 'Members mean the same as in JSON.',
    properties: flatten(closed, (member) => member.properties),
    ...(open.length > 0 && {
      patternProperties: Object.fromEntries(open.map(([name]) => [`^${name}\\.`, { type: 'string' }])),
    }),
    ...(isRecord(shape.example) && { example: flatten(Object.entries(shape.example), (value) => value) }),
  }
}

function undescribed(member: unknown): unknown {
  if (!isRecord(member)) return member
  const { description: _, ...rest } = member
  return mapShapes(rest, undescribed)
}

const flatten = (members: (readonly [string, unknown])[], innerOf: (member: Shape) => unknown): Shape =>
  Object.fromEntries(
    members.flatMap(([name, member]) => {
      const inner = isRecord(member) ? innerOf(member) : undefined
      return isRecord(inner) ? Object.entries(inner).map(([one, value]) => [`${name}.${one}`, value]) : [[name, member]]
    }),
  )
