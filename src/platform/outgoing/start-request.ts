import { Readable } from 'node:stream'
import type { Dispatcher } from 'undici'
import { monotonicMs } from '../clock.ts'

type AnswerHeaders = Record<string, string | string[] | undefined>

type RequestEvents = {
  /** Also called for interim (1xx) answers. */
  onHeaders(status: number, headers: AnswerHeaders): void
  onData(chunk: Buffer): void
  onEnd(): void
  /** `isSent` is false if no byte was or will be written. */
  onError(error: Error, isSent: boolean): void
}

export class DeadlinePassed extends Error {}

/**
 * Calls `onEnd` or `onError` once. The deadline covers everything; a connection that opens later stays unused, since
 * the timer alone would fire late in a paused process.
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
      // Otherwise undici reads from an unsent body later, when nobody handles its errors.
      if (options.body instanceof Readable) options.body.destroy()
      events.onError(error, controller !== undefined)
      controller?.abort(error)
    })
  const timer = setTimeout(() => fail(deadlinePassed()), timeoutMs)
  dispatcher.dispatch(options, {
    // Runs right before the first byte. If this throws, undici drops the request. A second call would repeat a sent
    // request.
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
