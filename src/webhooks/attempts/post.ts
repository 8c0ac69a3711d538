import type { Dispatcher } from 'undici'
import { type Clock, monotonicMs, systemClock } from '../../platform/clock.ts'
import { createProxiedAgent, NO_PROXIES } from '../../platform/outgoing/proxies.ts'
import { parseRetryAfter } from '../../platform/outgoing/retry-after.ts'
import { startRequest } from '../../platform/outgoing/start-request.ts'
import { isPublicHost, isReceiverPort } from '../registrations/receiver-url.ts'
import { AddressNotPublic, guardedConnector, type Resolve } from './address/address-guard.ts'
import { answerText, appendChunk, describeRefusal, emptyAnswer, type ReceiverAnswer } from './answer.ts'
import { AnswerCut, attemptFailure, PortNotAllowed, TooManyInterimAnswers } from './attempt-failure.ts'

/** Covers the whole attempt: name, connection, TLS, headers and body. */
export const ATTEMPT_TIMEOUT_MS = 10_000
const MAX_HEADER_BYTES = 32_768
const MAX_INTERIM_ANSWERS = 20
const IDLE_MS = 4_000
const LONGEST_IDLE_MS = 30_000
/** Lets a receiver move to another address. */
const CONNECTION_LIFE_MS = 60_000
/** Agents scan all connections of a host: 35 unresponsive receivers on one host blocked the process for up to 200 ms. */
const AGENTS = 64

export type ReceiverTarget = {
  url: string
  method: 'POST' | 'GET'
  headers: Record<string, string>
  body: Buffer
  timeoutMs: number
  registrationId: number
}

/** `delivered`: complete 2xx; `refused`: other complete answer; `unreachable`: no complete answer; `blocked`: not attempted. */
export type AttemptOutcome = {
  kind: 'delivered' | 'refused' | 'unreachable' | 'blocked'
  statusCode: number | null
  response: string | null
  errorMessage: string | null
  /** From a 429 or 503, unbounded. */
  retryAfterSeconds: number | null
  durationMs: number
}

type ReceiverClientOptions = {
  allowPrivate: boolean
  clock?: Clock
  connectTimeoutMs?: number
  resolve?: Resolve
  ca?: string
  /** Must guard addresses itself. */
  proxy?: string | undefined
}

export type ReceiverClient = {
  /** Makes one attempt. Never throws or follows redirects. */
  post(target: ReceiverTarget): Promise<AttemptOutcome>
  close(): Promise<void>
}

/** Creates the only client for receivers. Doesn't bound attempts in flight, lest one slow receiver block others: lanes do. */
export function createReceiverClient(options: ReceiverClientOptions): ReceiverClient {
  const agents = new Map<number, Dispatcher>()
  const agentOf = (place: number): Dispatcher => {
    const agent = agents.get(place) ?? createAgent(options)
    agents.set(place, agent)
    return agent
  }
  const clock = options.clock ?? systemClock
  return {
    post: (target) => post(agentOf(target.registrationId % AGENTS), clock, options.allowPrivate, target),
    close: async () => void (await Promise.all([...agents.values()].map((agent) => agent.destroy()))),
  }
}

function createAgent({ proxy, ...options }: ReceiverClientOptions): Dispatcher {
  const guard = { connectTimeoutMs: ATTEMPT_TIMEOUT_MS, ...options }
  return createProxiedAgent(proxy === undefined ? NO_PROXIES : { http: proxy, https: proxy, except: '' }, {
    connect: guardedConnector(guard),
    connectTimeoutMs: guard.connectTimeoutMs,
    ...(options.ca !== undefined && { ca: options.ca }),
    allowH2: false,
    pipelining: 1,
    maxHeaderSize: MAX_HEADER_BYTES,
    keepAliveTimeout: IDLE_MS,
    keepAliveMaxTimeout: LONGEST_IDLE_MS,
    clientTtl: CONNECTION_LIFE_MS,
    headersTimeout: 0,
    bodyTimeout: 0,
  })
}

async function post(
  agent: Dispatcher,
  clock: Clock,
  allowPrivate: boolean,
  target: ReceiverTarget,
): Promise<AttemptOutcome> {
  const startedAt = monotonicMs()
  const answer = emptyAnswer()
  try {
    await sendRequest(agent, checkedUrl(target.url, allowPrivate), target, answer)
    return { ...answered(answer, clock.now()), durationMs: elapsed(startedAt) }
  } catch (error) {
    const failure = attemptFailure(error, answer.statusCode, target.timeoutMs)
    const response = answer.statusCode === null ? null : answerText(answer)
    const { statusCode } = answer
    return { ...failure, statusCode, response, retryAfterSeconds: null, durationMs: elapsed(startedAt) }
  }
}

/** Stored registrations may predate a rule. */
function checkedUrl(text: string, allowPrivate: boolean): URL {
  const url = new URL(text)
  if (!isReceiverPort(url.port)) throw new PortNotAllowed()
  if (!allowPrivate && (url.protocol !== 'https:' || !isPublicHost(url.hostname))) throw new AddressNotPublic()
  return url
}

/** Fills `answer` as data arrives, to keep the received part. Aborting limits an endless answer to 64 KiB. */
function sendRequest(agent: Dispatcher, url: URL, target: ReceiverTarget, answer: ReceiverAnswer): Promise<void> {
  const { method, headers, body } = target
  const options = { origin: url.origin, path: url.pathname + url.search, method, headers, body, reset: false }
  return new Promise((resolve, reject) => {
    let interimAnswers = 0
    const request = startRequest(agent, options, target.timeoutMs, {
      onHeaders(statusCode, received) {
        if (statusCode < 200) {
          interimAnswers += 1
          if (interimAnswers > MAX_INTERIM_ANSWERS) request.abort(new TooManyInterimAnswers())
          return
        }
        answer.statusCode = statusCode
        answer.retryAfter = firstOf(received['retry-after'])
      },
      onData(chunk) {
        if (appendChunk(answer, chunk)) return
        resolve()
        request.abort(new AnswerCut())
      },
      onEnd: resolve,
      onError: reject,
    })
  })
}

function answered(answer: ReceiverAnswer, now: Date): Omit<AttemptOutcome, 'durationMs'> {
  const statusCode = answer.statusCode ?? 0
  const errorMessage = describeRefusal(statusCode)
  const mayAsk = statusCode === 429 || statusCode === 503
  return {
    kind: errorMessage === null ? 'delivered' : 'refused',
    statusCode,
    response: answerText(answer),
    errorMessage,
    retryAfterSeconds: mayAsk ? parseRetryAfter(answer.retryAfter, now) : null,
  }
}

const firstOf = (value: string | string[] | undefined): string | null =>
  (Array.isArray(value) ? value[0] : value) ?? null

const elapsed = (startedAt: number): number => Math.round(monotonicMs() - startedAt)
