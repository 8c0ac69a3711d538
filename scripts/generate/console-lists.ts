import type { ApiDocument } from './client-operations.ts'
import type { Schema } from './client-types.ts'

/** The lists of the contract that the console shows: the texts of a contact, and the events of webhooks. */
export function consoleLists({ webhooks, components: { schemas } }: ApiDocument): string {
  const written = schemas.ContactWrite?.properties ?? {}
  const texts = Object.entries(schemas.Contact?.properties ?? {}).flatMap(([name, schema]) => {
    const body = name in written ? name : toCamelCase(name)
    return isText(schema) && body in written ? [`  { name: '${name}', body: '${body}' },\n`] : []
  })
  const events = Object.entries(webhooks).map(
    ([name, { post }]) => `  { name: '${name}', label: '${post['x-label']}' },\n`,
  )
  return `// Generated from openapi.json by \`npm run generate\`. Do not edit.

/** The texts of a contact, by their names in the record and in the body of a write. */
export const CONTACT_TEXTS = [
${texts.join('')}] as const

/** The events that a receiver can subscribe to. */
export const EVENTS = [
${events.join('')}] as const
`
}

const isText = ({ type }: Schema): boolean => [type].flat().includes('string')

const toCamelCase = (name: string): string => name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase())
