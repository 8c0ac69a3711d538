import { type TSchema, Type } from 'typebox'
import { isRecord } from '../platform/text/json-text.ts'

export const TextError = Type.Object(
  { error: Type.String({ description: "Error text, sometimes in the provider's words." }) },
  { title: 'TextError', description: 'An error without a code.', example: { error: 'Missing required fields' } },
)

export const MessageError = Type.Object(
  { message: Type.String({ description: 'Kind of the missing record.' }) },
  {
    title: 'MessageError',
    description: "The record doesn't exist or belongs to another company.",
    example: { message: 'Contact not found' },
  },
)

export const nullableText = (description: string) =>
  Type.Unsafe<string | null>({ type: ['string', 'null'], description })

export const nullableTime = (description: string) =>
  Type.Unsafe<string | null>({ type: ['string', 'null'], format: 'date-time', description })

export const nullableInteger = (description: string) =>
  Type.Unsafe<number | null>({ type: ['integer', 'null'], description })

export const Pagination = Type.Object(
  {
    totalRecords: Type.Integer({ description: 'Number of records on all pages.' }),
    currentPage: Type.Integer({ description: 'Current page.' }),
    totalPages: Type.Integer({ description: 'Number of pages; 0 if there are no records.' }),
    nextPage: nullableInteger('Next page; null on the last page.'),
    prevPage: nullableInteger('Previous page; null on the first page.'),
  },
  {
    title: 'Pagination',
    example: { totalRecords: 2, currentPage: 1, totalPages: 1, nextPage: null, prevPage: null },
  },
)

export const Timestamp = Type.String({ format: 'date-time' })

/** A caller's timestamp, validated to the years 1970 to 9999 (text/instant.ts). */
export const instant = (description: string) =>
  Type.String({ format: 'date-time', description: `${description} From 1970 to 9999.` })

export const Success = Type.Object(
  { success: Type.Literal(true) },
  { title: 'Success', description: 'The request succeeded.', example: { success: true } },
)

/** Documented as an integer, but accepts any text; invalid ids get 404. `title` is the name in the reference. */
export const pathId = (title: string, description: string) =>
  Type.Unsafe<string>({ type: 'integer', minimum: 1, title, description, 'x-lenient': true })

export const fileContent = (description: string, examples: Record<string, string | undefined>) => ({
  description,
  content: Object.fromEntries(
    Object.entries(examples).map(([mimeType, example]): [string, { schema: TSchema }] => [
      mimeType,
      { schema: Type.Unsafe<unknown>({ type: 'string', ...(example !== undefined && { example }) }) },
    ]),
  ),
})

const LISTED = ['oneOf', 'anyOf', 'allOf']
const NESTED = ['items', 'additionalProperties']
const NAMED = ['properties', 'patternProperties']

/** Replaces the shapes directly within a shape. */
export function mapShapes(
  shape: Record<string, unknown>,
  change: (inner: unknown) => unknown,
): Record<string, unknown> {
  const changed = (keyword: string, value: unknown): unknown => {
    if (LISTED.includes(keyword) && Array.isArray(value)) return value.map((inner) => change(inner))
    if (NESTED.includes(keyword)) return change(value)
    if (!NAMED.includes(keyword) || !isRecord(value)) return value
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, change(member)]))
  }
  return Object.fromEntries(Object.entries(shape).map(([keyword, value]) => [keyword, changed(keyword, value)]))
}
