const PLACEHOLDER = /\{\{\s*([^{}\s]+)\s*\}\}/g

/** The placeholders of a text, each once: named ones in order of first appearance, positional ones `1`…`n`. */
export function placeholdersOf(text: string, format: 'POSITIONAL' | 'NAMED'): string[] {
  const names = [...new Set([...text.matchAll(PLACEHOLDER)].map((match) => match[1] ?? ''))]
  return format === 'NAMED' ? names : names.sort((a, b) => Number(a) - Number(b))
}

/** The text with its placeholders replaced; a placeholder without a value stays. */
export const fillPlaceholders = (text: string, values: ReadonlyMap<string, string>): string =>
  text.replace(PLACEHOLDER, (whole, name: string) => values.get(name) ?? whole)
