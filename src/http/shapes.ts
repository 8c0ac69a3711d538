import { type TSchema, Type } from 'typebox'

/** `{"error": "<text>"}` */
export const TextError = Type.Object({ error: Type.String() })

/** `{"message": "<text>"}` */
export const MessageError = Type.Object({ message: Type.String() })

/** `{"error": {"code", "message", "details"?, "retry_after"?}}` */
export const CodedError = Type.Object({
  error: Type.Object({
    code: Type.String(),
    message: Type.String(),
    details: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
    retry_after: Type.Optional(Type.Integer({ description: 'Seconds until the next request is admitted' })),
  }),
})

const SHAPES = { text: TextError, message: MessageError, coded: CodedError }

const DESCRIPTIONS: Record<number, string> = {
  400: 'The shape of the request is wrong',
  401: 'Missing or invalid credential',
  403: 'Not permitted',
  404: 'Not found',
  409: 'Conflict with what exists',
  410: 'Removed',
  413: 'The body is too large',
  422: 'A value is not allowed',
  429: 'Too many requests',
  500: 'Failure of the service',
  503: 'Temporarily unavailable',
}

type ShapeName = keyof typeof SHAPES

/**
 * Response shapes of a route's refusals, for the API reference: `errorResponses({ 404: 'message', 422: 'coded' })`. A
 * status that answers in several shapes takes a list. What every route of the API-key surface may answer is included.
 */
export function errorResponses(own: Record<number, ShapeName | readonly ShapeName[]> = {}): Record<number, TSchema> {
  return describeAll({ 401: 'text', 403: 'coded', 429: 'coded', 503: 'coded', ...own })
}

/** The same for the operator's API, whose 401 is coded and which counts no requests. */
export function operatorErrorResponses(
  own: Record<number, ShapeName | readonly ShapeName[]> = {},
): Record<number, TSchema> {
  return describeAll({ 401: 'coded', 503: 'coded', ...own })
}

function describeAll(shapes: Record<number, ShapeName | readonly ShapeName[]>): Record<number, TSchema> {
  const entries = Object.entries(shapes).map(([status, names]) => {
    const list = (typeof names === 'string' ? [names] : names).map((name) => SHAPES[name])
    const description = DESCRIPTIONS[Number(status)] ?? 'Refused'
    return [status, list.length === 1 ? { ...list[0], description } : Type.Union(list, { description })]
  })
  return Object.fromEntries(entries)
}

const NullableInteger = Type.Union([Type.Integer(), Type.Null()])

/** The pagination of senders, conversations and messages. */
export const Pagination = Type.Object({
  totalRecords: Type.Integer(),
  currentPage: Type.Integer(),
  totalPages: Type.Integer(),
  nextPage: NullableInteger,
  prevPage: NullableInteger,
})

/** A time, as every answer writes it: ISO 8601 in UTC. */
export const Timestamp = Type.String({ format: 'date-time' })
