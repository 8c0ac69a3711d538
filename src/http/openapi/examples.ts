import { isRecord } from '../record.ts'
import type { Media } from './responses.ts'

export function addExample(media: Media, isShort: boolean): void {
  const { schema } = media
  if ('example' in media || media.examples !== undefined || !isRecord(schema)) return
  const named = namedChoices(schema)
  const example = exampleOf(schema)
  if (named.length > 1 && !isShort) media.examples = Object.fromEntries(named)
  else if (example !== undefined) media.example = example
}

const namedChoices = (schema: Record<string, unknown>): [string, { value: unknown }][] =>
  choicesOf(schema).flatMap((choice): [string, { value: unknown }][] =>
    typeof choice.title === 'string' && 'example' in choice ? [[choice.title, { value: choice.example }]] : [],
  )

const choicesOf = (schema: Record<string, unknown>): Record<string, unknown>[] =>
  [schema.oneOf, schema.anyOf].flatMap((choices) => (Array.isArray(choices) ? choices.filter(isRecord) : []))

function exampleOf(schema: unknown): unknown {
  if (!isRecord(schema)) return undefined
  if ('example' in schema) return schema.example
  if ('const' in schema) return schema.const
  if (Array.isArray(schema.enum)) return schema.enum[0]
  const [choice] = choicesOf(schema)
  if (choice !== undefined) return exampleOf(choice)
  if (isRecord(schema.properties)) return objectOf(schema.properties)
  const item = exampleOf(schema.items)
  return item === undefined ? undefined : [item]
}

function objectOf(properties: Record<string, unknown>): object | undefined {
  const members = Object.entries(properties).map(([name, shape]) => [name, exampleOf(shape)] as const)
  const shown = members.filter(([, value]) => value !== undefined)
  return shown.length > 0 ? Object.fromEntries(shown) : undefined
}
