import { isObject } from './events/json-member.ts'
import type { ProviderError } from './provider.ts'

/** Reads `{error: {code, message, error_data: {details}}}`; the code may be text. */
export function readGraphError(body: Record<string, unknown>): ProviderError | undefined {
  if (!isObject(body.error)) return undefined
  const { code, message, error_data: data, error_user_msg: userMessage } = body.error
  return {
    code: Number.isSafeInteger(Number(code)) && code !== null && code !== '' ? Number(code) : null,
    title: text(message) ?? 'The provider refused without a reason',
    details: (isObject(data) ? text(data.details) : null) ?? text(userMessage),
  }
}

/** Formats an error as code, title and details. */
export const providerMessage = ({ code, title, details }: ProviderError): string =>
  [code, title, details].filter((part) => part !== null).join(': ')

/** Builds an error without a provider code. */
export const failure = (title: string): ProviderError => ({ code: null, title, details: null })

/** Returns a non-empty string, or null. */
export const text = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null)
