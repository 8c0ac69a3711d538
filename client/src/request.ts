/** A request as the generated methods describe it. Members of `params` that the path does not name go to the query. */
export type ApiRequest = {
  method: string
  path: string
  params?: object | undefined
  json?: unknown
  text?: TextBody<string>
}

/** A body that is no JSON, such as a list of contacts. */
export type TextBody<ContentType extends string> = {
  contentType: ContentType
  data: string | Blob | Uint8Array<ArrayBuffer>
}

export type RequestOptions = {
  /** Ends the call at once, with the reason of the signal. */
  signal?: AbortSignal
  /** The longest time for the call with all its repeats, in milliseconds. */
  timeoutMs?: number
  /** The longest time for one attempt, in milliseconds. */
  attemptTimeoutMs?: number
  /** How often a request is repeated at most. */
  maxRetries?: number
  /** The key of a POST. Without it each call makes a new one, which all its repeats carry. */
  idempotencyKey?: string
  /** More headers of the request. */
  headers?: Record<string, string>
}

/** The arguments of `fetch` for a request. Parameters that are undefined are left out. */
export function toFetch(baseUrl: string, { method, path, params = {}, json, text }: ApiRequest, init: Headers) {
  const query = new URLSearchParams()
  let address = path
  for (const [name, value] of Object.entries(params)) {
    if (value === undefined || value === null) continue
    if (address.includes(`{${name}}`)) address = address.replace(`{${name}}`, () => segment(name, String(value)))
    else query.append(name, String(value))
  }
  const headers = new Headers(init)
  if (json !== undefined) headers.set('content-type', 'application/json')
  if (text !== undefined) headers.set('content-type', text.contentType)
  const body = json === undefined ? text?.data : JSON.stringify(json)
  return {
    url: `${baseUrl}${address}${query.size > 0 ? `?${query}` : ''}`,
    init: { method, headers, ...(body !== undefined && { body }) },
  }
}

/** A segment of a path. `.` and `..` would be resolved as folders, and an empty one would address the list. */
function segment(name: string, value: string): string {
  if (value === '' || value === '.' || value === '..') throw new TypeError(`${name} cannot be "${value}"`)
  return encodeURIComponent(value)
}
