import {
  hasRoundedInteger,
  isObjectText,
  membersOf,
  parseJsonText,
  textOf,
  valueAt,
} from '../../src/platform/text/json-text.ts'

const CUSTOM = 'custom_fields.'

/** A row of a list: its cells in the order of the columns, and whether it cannot be read, or not without changing its digits. */
export type ListRow = { cells: readonly unknown[]; fault?: 'broken' | 'digits' }

/** The members of the first lines of a list, each once. */
export function columnsOf(text: string, isWhole: boolean): string[] {
  const lines = text.split('\n')
  const objects = (isWhole ? lines : lines.slice(0, -1)).map(readLine)
  return [...new Set(objects.flatMap((one) => Object.keys(one ?? {})))]
}

/** The members of a line of JSON in the order of the columns. */
export function lineCells(line: string, columns: readonly string[]): ListRow {
  const value = readLine(line)
  if (value === undefined) return { cells: [], fault: 'broken' }
  const cells = columns.map((column) => value[column])
  return hasRoundedInteger(line, value) ? { cells, fault: 'digits' } : { cells }
}

/** A line under the names of its targets; each value is passed on as it was written, so that no digit changes. */
export function toMappedLine(
  line: string | undefined,
  columns: readonly string[],
  targets: readonly (string | null)[],
): string {
  if (line === undefined || readLine(line) === undefined) return 'not an object\n'
  const values = new Map(membersIn(line))
  const placed = columns.flatMap((column, place) => {
    const [target, value] = [targets[place] ?? null, values.get(column)]
    return target === null || value === undefined ? [] : [{ target, value }]
  })
  const fields = new Map(placed.flatMap(({ target, value }) => (target === 'custom_fields' ? membersIn(value) : [])))
  for (const { target, value } of placed) {
    if (target.startsWith(CUSTOM)) fields.set(target.slice(CUSTOM.length), value)
  }
  const others = placed.filter(({ target }) => target !== 'custom_fields' && !target.startsWith(CUSTOM))
  const custom = fields.size > 0 ? [['custom_fields', toObject([...fields])] as const] : []
  return `${toObject([...others.map(({ target, value }) => [target, value] as const), ...custom])}\n`
}

const toObject = (members: readonly (readonly [string, string])[]): string =>
  `{${members.map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(',')}}`

function membersIn(text: string): [string, string][] {
  const object = valueAt(text)
  return isObjectText(text, object) ? membersOf(text, object).map(({ name, value }) => [name, textOf(text, value)]) : []
}

function readLine(line: string): Record<string, unknown> | undefined {
  try {
    const value = parseJsonText(line)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : undefined
  } catch {
    return undefined
  }
}
