import { isRecord } from '../record.ts'
import type { Media } from './responses.ts'

/** Which shapes an example leaves out. */
export type Brevity = {
  /** Lists are empty. */
  readonly isShort: boolean
  /** Shapes that another operation shows by themselves: a list of them is empty. */
  readonly shown: ReadonlySet<unknown>
}

/** The titles of the shapes that stand by themselves in the content of a media type, outside of lists. */
export function titlesIn(schema: unknown): unknown[] {
  if (!isRecord(schema)) return []
  const members = isRecord(schema.properties) ? Object.values(schema.properties) : []
  return [schema.title, ...[...members, ...choicesOf(schema)].flatMap(titlesIn)].filter((title) => title !== undefined)
}

/**
 * Gives the content of a media type an example, made from the `example` of its shape or of the shapes inside it. A
 * shape that is one of several gives an example for each, or with `isShort` one of them.
 */
export function addExample(media: Media, brevity: Brevity): void {
  const { schema } = media
  if ('example' in media || media.examples !== undefined || !isRecord(schema)) return
  const named = namedChoices(schema)
  const example = exampleOf(schema, brevity)
  if (named.length > 1 && !brevity.isShort) media.examples = Object.fromEntries(named)
  else if (example !== undefined) media.example = example
}

const namedChoices = (schema: Record<string, unknown>): [string, { value: unknown }][] =>
  choicesOf(schema).flatMap((choice): [string, { value: unknown }][] =>
    typeof choice.title === 'string' && 'example' in choice ? [[choice.title, { value: choice.example }]] : [],
  )

const choicesOf = (schema: Record<string, unknown>): Record<string, unknown>[] =>
  [schema.oneOf, schema.anyOf].flatMap((choices) => (Array.isArray(choices) ? choices.filter(isRecord) : []))

function exampleOf(schema: unknown, brevity: Brevity): unknown {
  if (!isRecord(schema)) return undefined
  if ('example' in schema) return schema.example
  if ('const' in schema) return schema.const
  if (Array.isArray(schema.enum)) return schema.enum[0]
  const [choice] = choicesOf(schema)
  if (choice !== undefined) return exampleOf(choice, brevity)
  if (isRecord(schema.properties)) return objectOf(schema.properties, brevity)
  if (schema.type === 'array' && (brevity.isShort || isShown(schema.items, brevity))) return []
  const item = exampleOf(schema.items, brevity)
  return item === undefined ? undefined : [item]
}

const isShown = (items: unknown, { shown }: Brevity): boolean => isRecord(items) && shown.has(items.title)

function objectOf(properties: Record<string, unknown>, brevity: Brevity): object | undefined {
  const members = Object.entries(properties).map(([name, shape]) => [name, exampleOf(shape, brevity)] as const)
  const shown = members.filter(([, value]) => value !== undefined)
  return shown.length > 0 ? Object.fromEntries(shown) : undefined
}
