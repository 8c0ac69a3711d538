import { serviceUnavailable, validationError } from '../errors.ts'
import type { ProviderNumber, Providers, SenderAccess } from '../providers/provider.ts'
import type { ProviderName } from './sender.ts'

export type ConnectionDeps = {
  providers: Providers
  /** Told when the provider could not be asked and the number is connected all the same. */
  onUnchecked(reason: string): void
}

export type Connection = SenderAccess & { provider: ProviderName }

/**
 * Asks the provider with the credential that was given, and answers what it knows of the number; undefined when it does
 * not list it or could not be asked: a provider that is away must not stop a number from being connected.
 * 422 when it refuses the credential itself.
 */
export async function checkConnection(
  deps: ConnectionDeps,
  connection: Connection,
): Promise<ProviderNumber | undefined> {
  const listed = await deps.providers[connection.provider]?.listNumbers(connection)
  if (listed === undefined) return undefined
  if (listed.kind === 'failed') {
    if (listed.isDenied) {
      const words = `is refused by the provider: ${listed.error.title}`
      throw validationError([{ path: 'accessToken', message: words }])
    }
    deps.onUnchecked(listed.error.title)
    return undefined
  }
  return listed.value.find(({ phoneNumberId }) => phoneNumberId === connection.phoneNumberId)
}

/** Name and number as given, else as the provider tells them; 503 or 422 when nobody does. */
export function completeFrom(
  number: ProviderNumber | undefined,
  given: { phoneNumber?: string; phoneName?: string },
): { phoneNumber: string; phoneName: string } {
  const phoneNumber = given.phoneNumber ?? number?.phoneNumber
  const phoneName = given.phoneName ?? number?.phoneName
  if (phoneNumber && phoneName) return { phoneNumber, phoneName }
  if (number === undefined) {
    throw serviceUnavailable('The provider does not tell name and number: give phoneNumber and phoneName')
  }
  const path = phoneNumber ? 'phoneName' : 'phoneNumber'
  throw validationError([{ path, message: 'must be given: the provider does not tell it' }])
}

/** By what the provider's events name the app, when the operator did not say. */
export const appIdOf = (deps: ConnectionDeps, connection: Connection): string | null =>
  connection.appId ?? deps.providers[connection.provider]?.appIdOf(connection) ?? null
