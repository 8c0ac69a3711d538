/** A value of a body: where it is, and the body with another value there. */
export type Leaf = { path: string; place: (string | number)[]; value: string | number | boolean }

/** The values of a body that say something, each with its path: `messages: messages[].text.body`. */
export function leavesOf(body: unknown): Leaf[] {
  const leaves: Leaf[] = []
  walk(body, [], (place, value) => {
    if (value === null || value === '' || typeof value === 'object') return
    leaves.push({ path: pathOf(body, place), place, value: value as Leaf['value'] })
  })
  return leaves
}

function walk(value: unknown, place: (string | number)[], visit: (place: (string | number)[], value: unknown) => void) {
  visit(place, value)
  if (Array.isArray(value)) for (const [index, element] of value.entries()) walk(element, [...place, index], visit)
  else if (typeof value === 'object' && value !== null)
    for (const [name, member] of Object.entries(value)) walk(member, [...place, name], visit)
}

/** What is within a change is named by its field. */
function pathOf(body: unknown, place: readonly (string | number)[]): string {
  const [entry, , changes, , value, ...rest] = place
  if (entry === 'entry' && changes === 'changes' && value === 'value' && rest.length > 0) {
    return `${at(body, [...place.slice(0, 4), 'field']) ?? 'messages'}: ${toText(rest)}`
  }
  return toText(place)
}

const toText = (place: readonly (string | number)[]): string =>
  place
    .map((step) => (typeof step === 'number' ? '[]' : `.${step}`))
    .join('')
    .slice(1)

const at = (value: unknown, place: readonly (string | number)[]): unknown =>
  place.reduce<unknown>((inner, step) => Object(inner)[step], value)

/** The body as text, with each of some other values at a place. */
export function* variantsOf(body: unknown, { place, value }: Leaf): Generator<string> {
  for (const other of othersThan(value)) {
    const copy = structuredClone(body)
    Object(at(copy, place.slice(0, -1)))[place.at(-1) ?? ''] = other
    yield JSON.stringify(copy)
  }
}

function othersThan(value: Leaf['value']): (string | number | boolean)[] {
  if (typeof value === 'boolean') return [!value]
  if (typeof value === 'number') return [value + 1, value + 1_000, 0]
  const digit = (index: number) => `${value.slice(0, index)}${(Number(value[index]) + 1) % 10}${value.slice(index + 1)}`
  const digits = [...value.matchAll(/[0-9]/g)].map(({ index }) => index)
  return [`${value}z`, ...[digits.at(-1), digits[1]].filter((index) => index !== undefined).map(digit)]
}
