import { isObject } from './events/json-member.ts'
import type { ProviderError } from './provider.ts'

/** `{error: {code, message, error_data: {details}}}`; the code may come as text. */
export function readGraphError(body: Record<string, unknown>): ProviderError | undefined {
  if (!isObject(body.error)) return undefined
  const { code, message, error_data: data, error_user_msg: userMessage } = body.error
  return {
    code: Number.isSafeInteger(Number(code)) && code !== null && code !== '' ? Number(code) : null,
    title: text(message) ?? 'The provider refused without a reason',
    // Refusals of templates explain themselves to users.
    details: (isObject(data) ? text(data.details) : null) ?? text(userMessage),
  }
}

/** The provider's message about an error: code, text and, where it has them, details. */
export const providerMessage = ({ code, title, details }: ProviderError): string =>
  [code, title, details].filter((part) => part !== null).join(': ')

/** A failure that the provider itself said nothing of. */
export const failure = (title: string): ProviderError => ({ code: null, title, details: null })

/** A text that says something, else null. */
export const text = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null)
