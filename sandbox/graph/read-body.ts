/** A body as Graph takes it: JSON or a form, in which objects may be JSON in strings. Undefined if it is neither. */
export function readBody(contentType: string, body: string): Record<string, unknown> | undefined {
  const isForm = contentType.startsWith('application/x-www-form-urlencoded')
  const value = isForm ? Object.fromEntries(new URLSearchParams(body)) : parseJson(body)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  const members = Object.entries(value).map(([name, member]) => [name, parseObject(member)])
  return Object.fromEntries(members)
}

/** Text that looks like an object or a list is read as one, if it is one. */
const parseObject = (member: unknown): unknown =>
  typeof member === 'string' && /^\s*[[{]/.test(member) ? (parseJson(member) ?? member) : member

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
