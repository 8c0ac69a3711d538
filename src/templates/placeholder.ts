const PLACEHOLDER = /\{\{\s*([^{}\s]+)\s*\}\}/g

/** Returns unique placeholders: named ones in order of appearance, positional ones as `1`…`n`. */
export function placeholdersOf(text: string, format: 'POSITIONAL' | 'NAMED'): string[] {
  const names = [...new Set([...text.matchAll(PLACEHOLDER)].map((match) => match[1] ?? ''))]
  return format === 'NAMED' ? names : names.sort((a, b) => Number(a) - Number(b))
}

export const fillPlaceholders = (text: string, values: ReadonlyMap<string, string>): string =>
  text.replace(PLACEHOLDER, (whole, name: string) => values.get(name) ?? whole)
