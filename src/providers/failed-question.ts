import { type AppError, providerThrottled, serviceUnavailable } from '../platform/errors.ts'
import { providerMessage } from './graph-error.ts'
import type { Fetched } from './provider.ts'

/** Returns the answer to a caller whose question the provider did not refuse: 429 if it asks to wait, else 503. */
export const unanswered = (
  { retryAfterSeconds, error }: Extract<Fetched<unknown>, { kind: 'failed' }>,
  what: string,
): AppError =>
  retryAfterSeconds === null
    ? serviceUnavailable(`${what}: ${providerMessage(error)}`)
    : providerThrottled(retryAfterSeconds)
