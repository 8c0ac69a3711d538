import createClient from 'openapi-fetch'
import type { paths } from './api.ts'
import { API_PREFIX } from './scope.ts'

/** The company's API. */
export const api = createClient<paths>({ baseUrl: API_PREFIX })
/** The operator's API. */
export const adminApi = createClient<paths>({ baseUrl: '/console/api' })

/** An answer that is no success, or no answer at all (status 0). */
export class ApiError extends Error {
  readonly status: number
  readonly code: string
  /** For the operator's logs. */
  readonly requestId: string | null
  /** Seconds to wait before the next attempt. */
  readonly retryAfter: number | null
  readonly fields: readonly { path: string; message: string }[]

  constructor(message: string, given: Partial<ApiError> = {}) {
    super(message)
    this.status = given.status ?? 0
    this.code = given.code ?? ''
    this.requestId = given.requestId ?? null
    this.retryAfter = given.retryAfter ?? null
    this.fields = given.fields ?? []
  }
}

type Result<Data> = { data?: Data; error?: unknown; response: Response }

/** Told when a request is answered 401: the session has ended. */
let onSignedOut: () => void = () => {}
export const whenSignedOut = (act: () => void): void => {
  onSignedOut = act
}

/**
 * The data of an answer.
 *
 * @throws ApiError when the request failed or was not answered
 */
export async function read<Data>(request: Promise<Result<Data>>): Promise<Data> {
  const result = await request.catch(() => undefined)
  if (result === undefined) throw new ApiError('', { code: 'offline' })
  const { data, error, response } = result
  if (response.ok && data !== undefined) return data
  if (response.status === 401) onSignedOut()
  throw errorOf(error, response)
}

/** The three shapes of errors (spec: Errors): coded, text and message. */
export function errorOf(body: unknown, response: Response): ApiError {
  const coded = member(body, 'error')
  const text = typeof coded === 'string' ? coded : (textOf(member(coded, 'message')) ?? textOf(member(body, 'message')))
  const fields = member(member(coded, 'details'), 'fields')
  return new ApiError(text ?? '', {
    status: response.status,
    code: textOf(member(coded, 'code')) ?? '',
    requestId: response.headers.get('x-request-id'),
    retryAfter: Number(response.headers.get('retry-after')) || null,
    fields: Array.isArray(fields) ? fields.flatMap(toField) : [],
  })
}

function toField(value: unknown): { path: string; message: string }[] {
  const path = textOf(member(value, 'path'))
  const message = textOf(member(value, 'message'))
  return path === undefined || message === undefined ? [] : [{ path, message }]
}

const member = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null && name in value ? Reflect.get(value, name) : undefined

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)
