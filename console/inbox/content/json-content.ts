/** Reads the JSON of a provider, of which nothing is certain. */

export const at = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined

/** A text that is not empty. */
export function textAt(value: unknown, name: string): string | undefined {
  const text = at(value, name)
  return typeof text === 'string' && text !== '' ? text : undefined
}

/** A number, also one that is written as a text. */
export function numberAt(value: unknown, name: string): number | undefined {
  const found = at(value, name)
  const number = typeof found === 'string' && found.trim() !== '' ? Number(found) : found
  return typeof number === 'number' && Number.isFinite(number) ? number : undefined
}

export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

export const distinct = (texts: readonly (string | undefined)[]): string[] => [
  ...new Set(texts.filter((text) => text !== undefined)),
]
