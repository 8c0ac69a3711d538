import { Operations } from '../client/src/generated/operations.ts'
import { type ApiRequest, type RequestOptions, toFetch } from '../client/src/request.ts'
import { untilLive } from './live/first-reads.ts'
import { API_PREFIX } from './scope.ts'

/** An answer that is no success, or no answer at all (status 0). */
export class ApiError extends Error {
  readonly status: number
  readonly code: string
  /** For the operator's logs. */
  readonly requestId: string | null
  /** Seconds to wait before the next attempt. */
  readonly retryAfter: number | null
  readonly fields: readonly { path: string; message: string }[]

  constructor(message: string, details: Partial<ApiError> = {}) {
    super(message)
    this.status = details.status ?? 0
    this.code = details.code ?? ''
    this.requestId = details.requestId ?? null
    this.retryAfter = details.retryAfter ?? null
    this.fields = details.fields ?? []
  }
}

/** Called when a request is answered 401: the session has ended. */
let onSignedOut: () => void = () => {}
export const whenSignedOut = (act: () => void): void => {
  onSignedOut = act
}

/** A company of the installation, as an operator sees it (`GET /admin/v1/companies`). */
export type Company = { id: number; name: string; rateLimitPerMinute: number; createdAt: string }

/** An inbound event that was not processed (`GET /admin/v1/failed-events`). */
export type KeptEvent = {
  id: number
  state: string
  reason: string
  phoneNumberId: string | null
  wabaAccountId: string | null
  app: string | null
  receivedAt: string
}
/** Filters of an event list; absent members match all. */
export type EventFilter = { reason?: string; phoneNumberId?: string }
export type EventList = 'failed' | 'unroutable'

/** The API for the session of this page. A method throws ApiError when its request fails or is not answered. */
class Api extends Operations {
  /** The companies of the installation. Takes the session of an operator. */
  listCompanies(): Promise<Company[]> {
    return this.#ofOperator({ method: 'GET', path: '/admin/v1/companies' })
  }

  /** Returns a page of unprocessed events, newest first. Requires an operator session. */
  listEvents(list: EventList, params: EventFilter & { before?: number; limit: number }): Promise<KeptEvent[]> {
    return this.#ofOperator({ method: 'GET', path: `/admin/v1/${list}-events`, params })
  }

  /** Retries the oldest matching events, at most 1,000; returns how many. */
  retryEvents(list: EventList, filter: EventFilter): Promise<{ count: number }> {
    return this.#ofOperator({ method: 'POST', path: `/admin/v1/${list}-events/retry`, json: filter })
  }

  /** Retries one failed event. */
  retryEvent(id: number): Promise<unknown> {
    return this.#ofOperator({ method: 'POST', path: '/admin/v1/failed-events/{id}/retry', params: { id } })
  }

  #ofOperator<Answer>(request: ApiRequest): Promise<Answer> {
    return this.#fetch('/console/api', request).then(jsonOf<Answer>)
  }

  protected call<Answer>(request: ApiRequest, options?: RequestOptions): Promise<Answer> {
    return this.open(request, options).then(jsonOf<Answer>)
  }

  protected async open(request: ApiRequest, options?: RequestOptions): Promise<Response> {
    if (request.method === 'GET') await untilLive()
    return this.#fetch(API_PREFIX, request, options)
  }

  async #fetch(prefix: string, request: ApiRequest, { signal, idempotencyKey }: RequestOptions = {}) {
    const headers = new Headers(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey })
    const { url, init } = toFetch(prefix, request, headers)
    const response = await fetch(url, { ...init, ...(signal && { signal }) }).catch(() => undefined)
    if (response === undefined) throw new ApiError('', { code: 'offline' })
    if (response.ok) return response
    throw refusalOf(await response.json().catch(() => undefined), response)
  }
}

export const api = new Api()

/** A body that breaks off or is no JSON, of a proxy for example, counts as no answer. */
const jsonOf = <Answer>(response: Response): Promise<Answer> =>
  response.json().catch(() => {
    throw new ApiError('', { code: 'offline' })
  })

let hasSeveral = false
/** Whether the page is signed out because the browser sent several session cookies: another site may have set one. */
export const hasSeveralCookies = (): boolean => hasSeveral

/** Remembers why a request was answered 401. */
export function noteSignedOut(body: unknown): void {
  hasSeveral = member(member(member(body, 'error'), 'details'), 'hasSeveralCookies') === true
}

/** The error of an answer that is no success. A session that has ended signs the page out. */
export function refusalOf(body: unknown, response: Response): ApiError {
  if (response.status === 401) {
    noteSignedOut(body)
    onSignedOut()
  }
  return errorOf(body, response)
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
