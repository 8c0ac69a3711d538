import { CONTACT_MEMBERS } from './contact-members.ts'

const TEXTS = [
  ...Object.values(CONTACT_MEMBERS).flatMap(({ body, type }) => (body !== null && type === 'text' ? [body] : [])),
  'identityProof',
]
const CHANNELS = ['email', 'whatsapp']
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
 * none; members of other names are ignored. Values are checked afterwards, as for JSON.
 */
export function formToWriteBody(entries: Iterable<readonly [name: string, value: unknown]>): Record<string, unknown> {
  const texts = new Map<string, unknown>()
  const tags: unknown[] = []
  const customFields = new Map<string, unknown>()
  const consent = new Map<string, unknown>()
  for (const [name, value] of entries) {
    const [field, rest] = splitName(name)
    if (name === 'tags') tags.push(value)
    else if (TEXTS.includes(name)) texts.set(name, value)
    else if (field === 'customFields' && rest !== undefined) customFields.set(rest, value)
    else if (field === 'marketingConsent' && rest !== undefined && CHANNELS.includes(rest)) {
      consent.set(rest, FLAGS.get(value) ?? value)
    }
  }
  for (const name of ['email', 'phone']) if (texts.get(name) === '') texts.delete(name)
  return {
    ...Object.fromEntries(texts),
    ...(tags.length > 0 && { tags }),
    ...(customFields.size > 0 && { customFields: Object.fromEntries(customFields) }),
    ...(consent.size > 0 && { marketingConsent: Object.fromEntries(consent) }),
  }
}

function splitName(name: string): [field: string, rest: string | undefined] {
  const dot = name.indexOf('.')
  return dot === -1 ? [name, undefined] : [name.slice(0, dot), name.slice(dot + 1)]
}
