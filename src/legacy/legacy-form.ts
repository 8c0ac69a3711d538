const FIELD = 'customFields.'

/** The members of a form → the template email that it would be in JSON: `uid`, `recipient`, `customFields.<key>`. */
export function formToTemplateEmail(entries: Iterable<readonly [string, string]>): Record<string, unknown> {
  const members = new Map<string, string>()
  const fields = new Map<string, string>()
  for (const [name, value] of entries) {
    if (name.startsWith(FIELD)) fields.set(name.slice(FIELD.length), value)
    else members.set(name, value)
  }
  return { ...Object.fromEntries(members), customFields: Object.fromEntries(fields) }
}
