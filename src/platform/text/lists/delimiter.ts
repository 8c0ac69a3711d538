export const DELIMITERS = [',', ';', '\t'] as const
export type Delimiter = (typeof DELIMITERS)[number]

const NAMES: ReadonlyMap<string, Delimiter> = new Map([
  ...DELIMITERS.map((delimiter) => [delimiter, delimiter] as const),
  ['comma', ','],
  ['semicolon', ';'],
  ['tab', '\t'],
])

export const DELIMITER_NAMES = [...NAMES.keys()]

export const toDelimiter = (name: string): Delimiter | undefined => NAMES.get(name)

const SEP_LINE = /^"?sep=(.*?)"?$/is

/** Reads a `sep=;` first line, written by spreadsheets; undefined for any other line. */
export function readSepLine(text: string): { delimiter: Delimiter | undefined } | undefined {
  const [, separator] = SEP_LINE.exec(text) ?? []
  return separator === undefined ? undefined : { delimiter: toDelimiter(separator) }
}
