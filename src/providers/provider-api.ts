import { randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import {
  BrokenCircuitError,
  type CircuitBreakerPolicy,
  ConsecutiveBreaker,
  circuitBreaker,
  ExponentialBackoff,
  handleWhenResult,
} from 'cockatiel'
import type { Dispatcher } from 'undici'
import { createCache } from '../platform/cache.ts'
import { type Call, exchange } from '../platform/outgoing/exchange.ts'
import { USER_ID } from '../platform/text/phone.ts'
import { type Reading, readAnswer, readDone, readReceiptAnswer, readSendAnswer } from './graph-answer.ts'
import type {
  Fetched,
  MediaFile,
  OutboundContent,
  OutboundMessage,
  ReceiptOutcome,
  SenderAccess,
  SendOutcome,
} from './provider.ts'

type ApiConventions = {
  addressOf: (access: SenderAccess, path: string) => string
  credentialOf: (access: SenderAccess) => Record<string, string>
  reading?: Reading
}

type Answer = Promise<Fetched<Record<string, unknown>>>
type ChangeMethod = 'POST' | 'PUT' | 'DELETE'
type ChangeBody = object | URLSearchParams

export type ProviderApi = {
  get: (access: SenderAccess, path: string) => Answer
  change: (access: SenderAccess, method: ChangeMethod, path: string, body?: ChangeBody) => Answer
  /** Like `change`, for answers that may have no body. */
  perform: (access: SenderAccess, method: ChangeMethod, path: string, body?: ChangeBody) => Promise<Fetched<null>>
  send: (access: SenderAccess, path: string, body: string) => Promise<SendOutcome>
  sendReceipt: (access: SenderAccess, path: string, receipt: object) => Promise<ReceiptOutcome>
  upload: (access: SenderAccess, path: string, file: MediaFile, fields: Record<string, string>) => Answer
  /** Uploads raw bytes; `headers` replace the credential's. */
  uploadBytes: (access: SenderAccess, path: string, file: MediaFile, headers: Record<string, string>) => Answer
}

/** Creates the calls of an API like Meta's. */
export function createProviderApi(
  { dispatcher, timeoutMs }: { dispatcher: Dispatcher; timeoutMs: number },
  { addressOf, credentialOf, reading = {} }: ApiConventions,
): ProviderApi {
  const call = (access: SenderAccess, path: string, { headers, ...request }: Omit<Partial<Call>, 'url'>) =>
    exchange(dispatcher, {
      method: 'POST',
      timeoutMs,
      ...request,
      url: addressOf(access, path),
      headers: { ...credentialOf(access), ...headers },
    })
  const post = (access: SenderAccess, path: string, body: string) => call(access, path, { headers: JSON_TYPE, body })
  const change = (access: SenderAccess, method: ChangeMethod, path: string, body?: ChangeBody) => {
    if (body === undefined) return call(access, path, { method })
    if (body instanceof URLSearchParams) return call(access, path, { method, headers: FORM_TYPE, body: String(body) })
    return call(access, path, { method, headers: JSON_TYPE, body: JSON.stringify(body) })
  }
  return {
    get: async (access, path) => readAnswer(await call(access, path, { method: 'GET' }), reading),
    change: async (...request) => readAnswer(await change(...request), reading),
    perform: async (...request) => readDone(await change(...request), reading),
    send: async (access, path, body) => readSendAnswer(await post(access, path, body), reading),
    sendReceipt: async (access, path, receipt) =>
      readReceiptAnswer(await post(access, path, JSON.stringify(receipt)), reading),
    upload: async (access, path, file, fields) => {
      const form = toMediaForm(fields, file)
      return readAnswer(await call(access, path, { ...form, timeoutMs: UPLOAD_TIMEOUT_MS }), reading)
    },
    uploadBytes: async (access, path, { body, sizeBytes, mimeType }, others) => {
      const headers = { 'content-type': mimeType, 'content-length': String(sizeBytes), ...others }
      return readAnswer(await call(access, path, { headers, body, timeoutMs: UPLOAD_TIMEOUT_MS }), reading)
    },
  }
}

const JSON_TYPE = { 'content-type': 'application/json' }
const FORM_TYPE = { 'content-type': 'application/x-www-form-urlencoded' }

/** Returns whether an id is safe as a path segment. */
export const isMediaId = (id: string): boolean => /^[A-Za-z0-9_-]{1,256}$/.test(id)

/** Longer than for other calls: files can have 100 MB. */
const UPLOAD_TIMEOUT_MS = 60_000

/** Never shown to customers; the message has the document's name. */
const FILENAME = 'file'

/** Streams a file as multipart/form-data (RFC 7578). Names and values must be trusted: they could end a header. */
function toMediaForm(
  fields: Record<string, string>,
  { body, sizeBytes, mimeType }: MediaFile,
): { headers: Record<string, string>; body: Readable } {
  const boundary = `parley-${randomUUID()}`
  const parts = Object.entries(fields).map(
    ([name, value]) => `--${boundary}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  )
  const head = Buffer.from(
    `${parts.join('')}--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="${FILENAME}"\r\ncontent-type: ${mimeType}\r\n\r\n`,
  )
  const tail = Buffer.from(`\r\n--${boundary}--\r\n`)
  const form = Readable.from(concatenated(head, body, tail))
  return {
    headers: {
      'content-type': `multipart/form-data; boundary=${boundary}`,
      'content-length': String(head.length + sizeBytes + tail.length),
    },
    body: form,
  }
}

async function* concatenated(head: Buffer, body: Readable, tail: Buffer): AsyncGenerator<Buffer> {
  yield head
  yield* body
  yield tail
}

/** Builds a send body in Meta's Cloud API format, which other providers accept too. */
export function toGraphMessage(message: OutboundMessage): string {
  const { recipient, content, reference, quotedWamid, directSend } = message
  return JSON.stringify({
    messaging_product: 'whatsapp',
    recipient_type: 'individual',
    ...(USER_ID.test(recipient) ? { recipient } : { to: recipient }),
    ...(quotedWamid !== null && { context: { message_id: quotedWamid } }),
    type: content.type,
    [content.type]: toGraphContent(content),
    ...(directSend !== null && { category: directSend.category, ttl_seconds: directSend.ttlSeconds }),
    biz_opaque_callback_data: reference,
  })
}

function toGraphContent(content: OutboundContent): object {
  switch (content.type) {
    case 'text':
      return { body: content.text, preview_url: content.previewUrl ?? false }
    case 'template': {
      const { name, language, components } = content
      return { name, language: { code: language }, ...(components.length > 0 && { components }) }
    }
    case 'interactive':
    case 'location':
    case 'contacts':
      return content.value
    case 'reaction':
      return { message_id: content.targetWamid, emoji: content.emoji ?? '' }
    default:
      return toGraphMedia(content)
  }
}

const toGraphMedia = ({
  source,
  caption,
  filename,
  isVoice,
}: Extract<OutboundContent, { source: unknown }>): object => ({
  ...('link' in source ? { link: source.link } : { id: source.providerMediaId }),
  ...(caption !== undefined && { caption }),
  ...(filename !== undefined && { filename }),
  ...(isVoice && { voice: true }),
})

/** Builds a read receipt. */
export const toGraphReceipt = (wamid: string, isTyping: boolean): object => ({
  messaging_product: 'whatsapp',
  status: 'read',
  message_id: wamid,
  ...(isTyping && { typing_indicator: { type: 'text' } }),
})

const FAILURES_TO_OPEN = 10
const FIRST_PAUSE_MS = 1_000
const LONGEST_PAUSE_MS = 30_000
const MAX_SENDERS = 10_000

type SenderKey = { companyId: number; id: number }

export type Breaker = {
  /** Runs the attempt, or returns undefined while the sender's provider is down. */
  run<T extends { outcome: SendOutcome | ReceiptOutcome }>(
    sender: SenderKey,
    attempt: () => Promise<T>,
  ): Promise<T | undefined>
}

/** Creates per-sender breakers. Ten failures in a row open one; after 1 to 30 s a single send probes. */
export function createBreaker(): Breaker {
  const policies = createCache<string, CircuitBreakerPolicy>({ name: 'breakers', max: MAX_SENDERS })
  return {
    run: async (sender, attempt) => {
      try {
        return await policies.get(`${sender.companyId} ${sender.id}`, createPolicy).execute(attempt)
      } catch (error) {
        if (error instanceof BrokenCircuitError) return undefined
        throw error
      }
    },
  }
}

const createPolicy = (): CircuitBreakerPolicy =>
  circuitBreaker(
    handleWhenResult((result) => isFailure((result as { outcome: SendOutcome | ReceiptOutcome }).outcome)),
    {
      breaker: new ConsecutiveBreaker(FAILURES_TO_OPEN),
      halfOpenAfter: new ExponentialBackoff({ initialDelay: FIRST_PAUSE_MS, maxDelay: LONGEST_PAUSE_MS }),
    },
  )

const isFailure = (outcome: SendOutcome | ReceiptOutcome): boolean =>
  outcome.kind === 'unreachable' ||
  outcome.kind === 'unknown' ||
  (outcome.kind === 'refused' && outcome.reason === 'unavailable')
