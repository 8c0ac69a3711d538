import { BODY_NAMES } from '../../people/members/contact-members.ts'

/** The members that are objects in JSON, in both spellings. */
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
 * The members of a form → the object that the same contact would be in JSON (decisions: Contacts, form bodies):
 * `customFields.<key>` (the key is all that follows the first dot), `marketingConsent.<channel>` as `true`, `false`,
 * `1` or `0`, `tags` any number of times. Of other members that repeat the last one counts; an empty email or phone is
 * none. Names and values are checked afterwards, as for JSON.
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
