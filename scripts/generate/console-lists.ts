import type { ApiDocument } from './client-operations.ts'
import type { Schema } from './client-types.ts'

/** Builds the lists that the console shows from the contract: the writable texts of a contact, and the webhook events. */
export function consoleLists({ webhooks, components: { schemas } }: ApiDocument): string {
  const written = schemas.ContactWrite?.properties ?? {}
  const texts = Object.entries(schemas.Contact?.properties ?? {}).flatMap(([name, schema]) => {
    const body = name in written ? name : toCamelCase(name)
    return isText(schema) && isWritable(written[body]) ? [`  { name: '${name}', body: '${body}' },\n`] : []
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

/** A member that a write takes only as it was read is shown elsewhere. */
const isWritable = (schema: Schema | undefined): boolean => schema !== undefined && !schema['x-as-read']

const isText = ({ type }: Schema): boolean => [type].flat().includes('string')

const toCamelCase = (name: string): string => name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase())
