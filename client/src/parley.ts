import { ParleyError, toError, unexpectedAnswer } from './error.ts'
import { Operations } from './generated/operations.ts'
import type {
  Contact,
  Conversation,
  DeliveryAttempt,
  ListedImport,
  Message,
  ScheduledMessage,
  Sender,
} from './generated/schemas.ts'
import { type ApiRequest, type RequestOptions, toFetch } from './request.ts'
import { isRepeatable, LONGEST_TIMER_MS, sleep, waitMs } from './retry.ts'

export type ParleyOptions = Pick<RequestOptions, 'timeoutMs' | 'attemptTimeoutMs' | 'maxRetries' | 'headers'> & {
  /** The address of the service, such as `https://parley.example.com`. */
  baseUrl: string
  /** The API key, `PARLEY-<CLIENT_ID>-<KEY>`. */
  apiKey: string
  /** Another `fetch`, for proxies and tests. */
  fetch?: typeof globalThis.fetch
}

const TIMEOUT_MS = 120_000
const ATTEMPT_TIMEOUT_MS = 30_000
const MAX_RETRIES = 4

type Params<Name extends keyof Operations> = Omit<
  NonNullable<Parameters<Operations[Name]>[0]>,
  'page' | 'before' | 'after'
>

/** A client of one company. Its methods are the operations of the API, and `all…` iterate over their lists. */
export class Parley extends Operations {
  readonly #baseUrl: string
  readonly #defaults: RequestOptions
  readonly #headers: Record<string, string>
  readonly #fetch: typeof globalThis.fetch

  constructor({ baseUrl, apiKey, fetch, headers = {}, ...defaults }: ParleyOptions) {
    super()
    this.#baseUrl = baseUrl.replace(/\/+$/, '')
    this.#defaults = defaults
    this.#headers = { ...headers, authorization: `Bearer ${apiKey}` }
    this.#fetch = fetch ?? globalThis.fetch.bind(globalThis)
  }

  /** All connected numbers, each once, in the order in which they were connected. */
  async *allSenders(params: Params<'listSenders'> = {}, options?: RequestOptions): AsyncGenerator<Sender, void> {
    for (let after: string | null | undefined; after !== null; ) {
      const cursor = after === undefined ? {} : { after }
      const { items, pagination } = await this.listSenders({ ...params, ...cursor }, options)
      yield* items
      after = pagination.nextCursor ?? null
    }
  }

  /**
   * All conversations, latest activity first, each at most once. One that becomes active before its page is read moves to the
   * top of the list and is missing.
   */
  async *allConversations(
    params: Params<'listConversations'> = {},
    options?: RequestOptions,
  ): AsyncGenerator<Conversation, void> {
    for (let before: string | null | undefined; before !== null; ) {
      const cursor = before === undefined ? {} : { before }
      const { data, pagination } = await this.listConversations({ ...params, ...cursor }, options)
      yield* data
      before = pagination.nextCursor ?? null
    }
  }

  /** All messages of a conversation, newest first. */
  allMessages(params: Params<'listMessages'>, options?: RequestOptions): AsyncGenerator<Message, void> {
    return backwards(
      async (before: { before?: string }) => (await this.listMessages({ ...params, ...before }, options)).data,
      ({ id }) => String(id),
    )
  }

  /** All scheduled messages, the one that was scheduled last first. */
  allScheduledMessages(
    params: Params<'listScheduledMessages'> = {},
    options?: RequestOptions,
  ): AsyncGenerator<ScheduledMessage, void> {
    return backwards(
      async (before: { before?: number }) => (await this.listScheduledMessages({ ...params, ...before }, options)).data,
      ({ id }) => id,
    )
  }

  /**
   * All contacts that match, in the order of `sort`. By their last change, each comes at most once: one that changes before its
   * page is read is missing, and is found by a later call.
   */
  async *allContacts(params: Params<'listContacts'> = {}, options?: RequestOptions): AsyncGenerator<Contact, void> {
    const isByChange = params.sort === 'updated_at'
    const end = isByChange ? await this.#lastChange(params.search, options) : undefined
    const direction = params.sort === undefined || params.sort.startsWith('-') ? 'before' : 'after'
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const answer = await this.listContacts(
        { ...params, ...(cursor !== undefined && { [direction]: cursor }) },
        options,
      )
      for (const contact of answer.data) {
        // Contacts that change move to the end of the list: without this, it might never be reached.
        if (end !== undefined && contact.updated_at > end) return
        yield contact
      }
      cursor = answer.pagination.nextCursor ?? null
    }
  }

  /** The last change of the contacts that match; before all others when none does. */
  async #lastChange(search: string | undefined, options: RequestOptions | undefined): Promise<string> {
    const matching = search === undefined ? {} : { search }
    const { data } = await this.listContacts({ ...matching, sort: '-updated_at', limit: 1 }, options)
    return data[0]?.updated_at ?? ''
  }

  /** All delivery attempts of a registration that are kept, newest first. */
  allDeliveryAttempts(
    params: Params<'listDeliveryAttempts'>,
    options?: RequestOptions,
  ): AsyncGenerator<DeliveryAttempt, void> {
    return backwards(
      (before: { before?: number }) => this.listDeliveryAttempts({ ...params, ...before }, options),
      ({ id }) => id,
    )
  }

  /** All imports that are kept, newest first. */
  allImports(params: Params<'listImports'> = {}, options?: RequestOptions): AsyncGenerator<ListedImport, void> {
    return backwards(
      async (before: { before?: number }) => (await this.listImports({ ...params, ...before }, options)).data,
      ({ id }) => id,
    )
  }

  protected call<Answer>(request: ApiRequest, options?: RequestOptions): Promise<Answer> {
    return this.#repeat(request, options, async (response) => {
      const text = await response.text()
      try {
        return JSON.parse(text)
      } catch {
        throw unexpectedAnswer(response, text)
      }
    })
  }

  protected open(request: ApiRequest, options?: RequestOptions): Promise<Response> {
    return this.#repeat(request, options, async (response) => response)
  }

  /** Sends the request until it is answered, as long as a repeat is safe and its wait ends within the time limit. */
  async #repeat<Answer>(
    request: ApiRequest,
    callOptions: RequestOptions | undefined,
    read: Read<Answer>,
  ): Promise<Answer> {
    const options = { ...this.#defaults, ...callOptions }
    const deadline = performance.now() + (options.timeoutMs ?? TIMEOUT_MS)
    const headers = new Headers({ ...options.headers, ...this.#headers })
    if (request.method === 'POST') headers.set('idempotency-key', options.idempotencyKey ?? crypto.randomUUID())
    for (let attempt = 0; ; attempt += 1) {
      const left = deadline - performance.now()
      const limit = Math.min(options.attemptTimeoutMs ?? ATTEMPT_TIMEOUT_MS, left)
      const outcome = await this.#attempt(request, headers, read, limit, options.signal)
      if ('answer' in outcome) return outcome.answer
      const wait = waitMs(outcome.error, attempt)
      const isLast = attempt >= (options.maxRetries ?? MAX_RETRIES) || performance.now() + wait >= deadline
      if (isLast || !isRepeatable(request.method, outcome.error)) throw outcome.error
      await sleep(wait, options.signal)
    }
  }

  /** One attempt; throws only the reason of the caller's signal. */
  async #attempt<Answer>(
    request: ApiRequest,
    headers: Headers,
    read: Read<Answer>,
    limitMs: number,
    signal: AbortSignal | undefined,
  ): Promise<{ answer: Answer } | { error: ParleyError }> {
    const { url, init } = toFetch(this.#baseUrl, request, headers)
    const stop = new AbortController()
    const timer = setTimeout(() => stop.abort(), Math.min(limitMs, LONGEST_TIMER_MS))
    const signals = signal === undefined ? stop.signal : AbortSignal.any([signal, stop.signal])
    try {
      const response = await this.#fetch(url, { ...init, signal: signals, redirect: 'error' })
      if (!response.ok) return { error: await toError(response) }
      return { answer: await read(response) }
    } catch (cause) {
      signal?.throwIfAborted()
      if (cause instanceof ParleyError) return { error: cause }
      if (!stop.signal.aborted) return { error: new ParleyError('No answer came', { code: 'network_error', cause }) }
      const message = `No answer came within ${Math.round(limitMs)} ms`
      return { error: new ParleyError(message, { code: 'timeout', cause }) }
    } finally {
      clearTimeout(timer)
    }
  }
}

type Read<Answer> = (response: Response) => Promise<Answer>

/** All records of a list that is read from its newest record on with `before`. */
async function* backwards<Item, Cursor>(
  list: (before: { before?: Cursor }) => Promise<Item[]>,
  cursorOf: (item: Item) => Cursor,
): AsyncGenerator<Item, void> {
  let items = await list({})
  for (;;) {
    yield* items
    const last = items.at(-1)
    if (last === undefined) return
    items = await list({ before: cursorOf(last) })
  }
}
