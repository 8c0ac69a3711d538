import { CodedError, MessageError, TextError } from './shapes.ts'

type Operation = {
  operationId?: string
  security?: Record<string, unknown>[]
  parameters?: { in?: string }[]
  responses?: Record<string, unknown>
}
/** The part of an OpenAPI document that gets the answers that every operation of its kind can give. */
export type ReferenceDocument = {
  paths?: Record<string, Record<string, Operation>>
  components?: Record<string, unknown>
}

const json = (description: string, ...schemas: string[]) => ({
  description,
  content: {
    'application/json': {
      schema:
        schemas.length === 1
          ? { $ref: `#/components/schemas/${schemas[0]}` }
          : { anyOf: schemas.map((name) => ({ $ref: `#/components/schemas/${name}` })) },
    },
  },
})

const SCHEMAS = { TextError, MessageError, CodedError }

const RESPONSES = {
  BadRequest: json('The shape of the request is wrong', 'CodedError', 'TextError'),
  MissingApiKey: json('Missing or invalid API key', 'TextError'),
  MissingAdminToken: json("Missing or invalid operator's token", 'CodedError'),
  Forbidden: json('Not permitted, or plain HTTP where HTTPS is required', 'CodedError'),
  NotFound: json('Not found, or another company’s', 'MessageError', 'CodedError'),
  Conflict: json(
    'Conflicts with what exists, or the first request with this key still runs',
    'CodedError',
    'TextError',
  ),
  PayloadTooLarge: json('The body is too large', 'CodedError'),
  UnsupportedMediaType: json('The body has a Content-Encoding', 'CodedError'),
  UnprocessableContent: json('A value is not allowed: `details.fields` names each', 'CodedError'),
  TooManyRequests: json('Too many requests: see `Retry-After`', 'CodedError'),
  InternalError: json('Failure of the service', 'CodedError', 'TextError'),
  ServiceUnavailable: json('Temporarily unavailable: see `Retry-After`', 'CodedError'),
}
type ResponseName = keyof typeof RESPONSES

/**
 * Adds to each operation the refusals that it can answer beside its own (spec: Errors): by whether it has a credential,
 * path parameters, and whether its
 * method can carry a body. What a route declares itself stays.
 */
export function addCommonResponses(document: ReferenceDocument): ReferenceDocument {
  for (const methods of Object.values(document.paths ?? {})) {
    for (const [method, operation] of Object.entries(methods)) {
      // The HEAD of a route is registered with the shapes of its GET.
      if (method === 'head' && operation.operationId !== undefined) operation.operationId += 'Head'
      operation.responses = { ...referTo(refusalsOf(method, operation)), ...operation.responses }
    }
  }
  document.components = {
    ...document.components,
    schemas: { ...Object(document.components?.schemas), ...SCHEMAS },
    responses: RESPONSES,
  }
  return document
}

function refusalsOf(method: string, { security = [], parameters = [] }: Operation): Record<number, ResponseName> {
  const isApi = security.some((one) => 'apiKey' in one)
  const isOperator = security.some((one) => 'adminToken' in one)
  const hasQuery = parameters.some((one) => one.in === 'query')
  return {
    400: 'BadRequest',
    403: 'Forbidden',
    500: 'InternalError',
    503: 'ServiceUnavailable',
    // Addresses that cannot be decoded count against the client, before any route is known.
    429: 'TooManyRequests',
    ...(isApi && { 401: 'MissingApiKey' }),
    ...(isOperator && { 401: 'MissingAdminToken' }),
    ...(parameters.some((one) => one.in === 'path') && { 404: 'NotFound' }),
    ...(isApi && method !== 'get' && { 409: 'Conflict' }),
    ...(hasQuery && { 422: 'UnprocessableContent' }),
    ...(method !== 'get' &&
      method !== 'head' && {
        413: 'PayloadTooLarge',
        415: 'UnsupportedMediaType',
        422: 'UnprocessableContent',
      }),
  }
}

function referTo(refusals: Record<number, ResponseName>): Record<string, { $ref: string }> {
  return Object.fromEntries(
    Object.entries(refusals).map(([status, name]) => [status, { $ref: `#/components/responses/${name}` }]),
  )
}
