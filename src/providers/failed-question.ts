import { type AppError, providerThrottled, serviceUnavailable } from '../platform/errors.ts'
import { providerMessage } from './graph-error.ts'
import type { Fetched } from './provider.ts'

/** Returns the error for a failed provider request: 429 if the provider throttles, else 503. */
export const unanswered = (
  { retryAfterSeconds, error }: Extract<Fetched<unknown>, { kind: 'failed' }>,
  what: string,
): AppError =>
  retryAfterSeconds === null
    ? serviceUnavailable(`${what}: ${providerMessage(error)}`)
    : providerThrottled(retryAfterSeconds)
