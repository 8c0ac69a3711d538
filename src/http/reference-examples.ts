import { isRecord } from './record.ts'
import type { Media } from './reference-responses.ts'

/**
 * Gives the content of a media type an example, made from the `example` of its shape or of the shapes inside it. A
 * shape that is one of several gives an example for each, or with `isShort` one of them; a list is then empty.
 */
export function addExample(media: Media, isShort = false): void {
  const { schema } = media
  if ('example' in media || media.examples !== undefined || !isRecord(schema)) return
  const named = namedChoices(schema)
  const example = exampleOf(schema, isShort)
  if (named.length > 1 && !isShort) media.examples = Object.fromEntries(named)
  else if (example !== undefined) media.example = example
}

const namedChoices = (schema: Record<string, unknown>): [string, { value: unknown }][] =>
  choicesOf(schema).flatMap((choice): [string, { value: unknown }][] =>
    typeof choice.title === 'string' && 'example' in choice ? [[choice.title, { value: choice.example }]] : [],
  )

const choicesOf = (schema: Record<string, unknown>): Record<string, unknown>[] =>
  [schema.oneOf, schema.anyOf].flatMap((choices) => (Array.isArray(choices) ? choices.filter(isRecord) : []))

function exampleOf(schema: unknown, isShort: boolean): unknown {
  if (!isRecord(schema)) return undefined
  if ('example' in schema) return schema.example
  if ('const' in schema) return schema.const
  if (Array.isArray(schema.enum)) return schema.enum[0]
  const [choice] = choicesOf(schema)
  if (choice !== undefined) return exampleOf(choice, isShort)
  if (isRecord(schema.properties)) return objectOf(schema.properties, isShort)
  if (isShort && schema.type === 'array') return []
  const item = exampleOf(schema.items, isShort)
  return item === undefined ? undefined : [item]
}

function objectOf(properties: Record<string, unknown>, isShort: boolean): object | undefined {
  const members = Object.entries(properties).map(([name, shape]) => [name, exampleOf(shape, isShort)] as const)
  const known = members.filter(([, value]) => value !== undefined)
  return known.length > 0 ? Object.fromEntries(known) : undefined
}
