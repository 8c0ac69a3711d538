import { Readable } from 'node:stream'
import type { Dispatcher } from 'undici'
import { monotonicMs } from '../clock.ts'

type AnswerHeaders = Record<string, string | string[] | undefined>

type RequestEvents = {
  /** Also called for interim (1xx) answers. */
  onHeaders(status: number, headers: AnswerHeaders): void
  onData(chunk: Buffer): void
  onEnd(): void
  /** `isSent` is false if no byte of the request was written, and none ever will be. */
  onError(error: Error, isSent: boolean): void
}

export class DeadlinePassed extends Error {}

/**
 * Starts one request and reports its end once, by `onEnd` or `onError`. The deadline covers everything: waiting for a
 * connection, connecting, writing and the answer. A request without a connection by then is withdrawn: the connection may
 * still open, but stays unused. A timer alone is not enough, since it fires late in a process that was paused.
 */
export function startRequest(
  dispatcher: Dispatcher,
  options: Dispatcher.DispatchOptions,
  timeoutMs: number,
  events: RequestEvents,
): { abort(reason: Error): void } {
  const deadlineAt = monotonicMs() + timeoutMs
  const deadlinePassed = () => new DeadlinePassed(`no answer within ${timeoutMs} ms`)
  let controller: Dispatcher.DispatchController | undefined
  let isOver = false
  const end = (report: () => void) => {
    if (isOver) return
    isOver = true
    clearTimeout(timer)
    report()
  }
  const fail = (error: Error) =>
    end(() => {
      // Otherwise undici reads from an unsent body later, when nobody listens to its errors.
      if (options.body instanceof Readable) options.body.destroy()
      events.onError(error, controller !== undefined)
      controller?.abort(error)
    })
  const timer = setTimeout(() => fail(deadlinePassed()), timeoutMs)
  dispatcher.dispatch(options, {
    // Called right before the first byte is written. If it throws, undici drops the request and keeps the connection.
    // A second call would repeat a request that the server may have.
    onRequestStart(current) {
      if (isOver || controller !== undefined || monotonicMs() >= deadlineAt) throw deadlinePassed()
      controller = current
    },
    onResponseStart: (_, status, headers) => events.onHeaders(status, headers),
    onResponseData: (_, chunk) => {
      if (!isOver) events.onData(chunk)
    },
    onResponseEnd: () => end(() => events.onEnd()),
    onResponseError: (_, error) => fail(error),
  })
  return { abort: fail }
}
