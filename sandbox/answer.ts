import type { IncomingHttpHeaders } from 'node:http'

/** The behaviour of the connection instead of, or halfway through, a proper answer. */
export type Fate = 'hang' | 'reset' | 'truncate' | 'drip'

/** An HTTP answer as a value, so that every handler is a function from a request to one of these. */
export type Answer = {
  status: number
  contentType: string
  body: string | Buffer
  headers?: Record<string, string>
  fate?: Fate
  delayMs?: number
  /** Writes on after the head, until the client goes; the function that it returns ends that. */
  follow?: (write: (text: string) => void) => () => void
}

/** A request, read to its end. `url` is path and query as they came; `base` is how the client addresses us. */
export type Received = {
  method: string
  url: string
  base: string
  authorization: string | undefined
  /** `D360-API-KEY` */
  apiKey: string | undefined
  contentType: string | undefined
  headers: IncomingHttpHeaders
  body: Buffer
}

export const jsonAnswer = (value: unknown, status = 200): Answer => ({
  status,
  contentType: 'application/json; charset=utf-8',
  body: JSON.stringify(value),
})
