/** Separators of a CSV, the one of RFC 4180 first. */
export const DELIMITERS = [',', ';', '\t'] as const
export type Delimiter = (typeof DELIMITERS)[number]

const NAMES: ReadonlyMap<string, Delimiter> = new Map([
  ...DELIMITERS.map((delimiter) => [delimiter, delimiter] as const),
  ['comma', ','],
  ['semicolon', ';'],
  ['tab', '\t'],
])

/** How a separator may be named: by itself or by its word. */
export const DELIMITER_NAMES = [...NAMES.keys()]

/** The separator with this name; undefined: there is none. */
export const toDelimiter = (name: string): Delimiter | undefined => NAMES.get(name)

const SEP_LINE = /^"?sep=(.*?)"?$/is

/** What a first line `sep=;` says, which spreadsheets write for each other; undefined: it is no such line. */
export function readSepLine(text: string): { delimiter: Delimiter | undefined } | undefined {
  const [, separator] = SEP_LINE.exec(text) ?? []
  return separator === undefined ? undefined : { delimiter: toDelimiter(separator) }
}
