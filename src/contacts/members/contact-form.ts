import { BODY_NAMES } from '../../people/contact-record.ts'

const OBJECTS = ['customFields', 'marketingConsent'].flatMap((name) => [
  name,
  ...[...BODY_NAMES].flatMap(([recorded, body]) => (body === name ? [recorded] : [])),
])
const isConsent = (name: string): boolean => (BODY_NAMES.get(name) ?? name) === 'marketingConsent'
const FLAGS = new Map<unknown, boolean>([
  ['true', true],
  ['1', true],
  ['false', false],
  ['0', false],
])

/**
 * Converts form fields to a JSON body (decisions: Contacts, form bodies): `customFields.<key>` (everything after the
 * first dot), `marketingConsent.<channel>` as `true`, `false`, `1` or `0`, and repeated `tags`. The last value of other
 * repeated fields counts; an empty email or phone is dropped. The result must still be validated.
 */
export function formToWriteBody(entries: Iterable<readonly [name: string, value: unknown]>): Record<string, unknown> {
  const texts = new Map<string, unknown>()
  const tags: unknown[] = []
  const objects = new Map<string, Map<string, unknown>>()
  for (const [name, value] of entries) {
    const [field, rest] = splitName(name)
    if (name === 'tags') tags.push(value)
    else if (rest === undefined || !OBJECTS.includes(field)) texts.set(name, value)
    else {
      const members = objects.get(field) ?? new Map<string, unknown>()
      objects.set(field, members.set(rest, isConsent(field) ? (FLAGS.get(value) ?? value) : value))
    }
  }
  for (const name of ['email', 'phone']) if (texts.get(name) === '') texts.delete(name)
  return {
    ...Object.fromEntries(texts),
    ...(tags.length > 0 && { tags }),
    ...Object.fromEntries([...objects].map(([name, members]) => [name, Object.fromEntries(members)])),
  }
}

function splitName(name: string): [field: string, rest: string | undefined] {
  const dot = name.indexOf('.')
  return dot === -1 ? [name, undefined] : [name.slice(0, dot), name.slice(dot + 1)]
}
