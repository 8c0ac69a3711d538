import { providerThrottled, serviceUnavailable, validationError } from '../platform/errors.ts'
import { providerMessage } from '../providers/graph-error.ts'
import type { ProviderNumber, Providers, SenderAccess } from '../providers/provider.ts'
import type { ProviderName } from '../providers/provider-name.ts'
import { parseSenderPhone } from './sender.ts'

export type ConnectionDeps = {
  providers: Providers
  /** Called when the provider could not be asked and the number is connected all the same. */
  onUnchecked(reason: string): void
}

export type Connection = SenderAccess & { provider: ProviderName }

/** The provider's answer about a number; `unreachable`: why it could not be asked. */
export type Checked = { number: ProviderNumber | undefined; unreachable: string | null }

/**
 * Asks the provider with the credential of the request. A provider that cannot be reached must not stop a number from
 * being connected; one that refuses does.
 * @throws {AppError} 422 `validation_error` with the provider's code and text, or naming a `phoneNumberId` that it does
 * not list, or values other than those that it answers; 429 when the provider asks to wait
 */
export async function checkConnection(
  deps: ConnectionDeps,
  connection: Connection,
  typedPhone?: string,
): Promise<Checked> {
  const listed = await deps.providers[connection.provider]?.listNumbers(connection)
  if (listed === undefined) return unchecked(deps, 'there is no adapter for it')
  if (listed.kind === 'fetched') {
    const number = listed.value.find(({ phoneNumberId }) => phoneNumberId === connection.phoneNumberId)
    // A provider that lists a number without its id neither confirms nor denies.
    if (number === undefined && listed.value.every(({ phoneNumberId }) => phoneNumberId !== null)) throw notListed()
    const faults = number === undefined ? [] : compare(number, connection, typedPhone)
    if (faults.length > 0) throw validationError(faults)
    return { number, unreachable: null }
  }
  if (listed.retryAfterSeconds !== null) throw providerThrottled(listed.retryAfterSeconds)
  const message = providerMessage(listed.error)
  if (listed.isRefused) {
    const path = listed.isDenied || isPermission(listed.error.code) ? 'accessToken' : 'wabaAccountId'
    throw validationError([{ path, message: `is refused by the provider: ${message}` }])
  }
  return unchecked(deps, message)
}

function unchecked(deps: ConnectionDeps, reason: string): Checked {
  deps.onUnchecked(reason)
  return { number: undefined, unreachable: reason }
}

/** Values that differ from what the provider answers, as far as it does. */
function compare(number: ProviderNumber, connection: Connection, typedPhone: string | undefined) {
  const pairs = [
    { path: 'wabaAccountId', typed: connection.wabaAccountId, answered: number.wabaAccountId, read: asTyped },
    { path: 'appId', typed: connection.appId, answered: number.appId, read: asTyped },
    // What is no telephone number is refused elsewhere.
    { path: 'phoneNumber', typed: typedPhone, answered: number.phoneNumber, read: parseSenderPhone },
  ]
  return pairs.flatMap(({ path, typed, answered, read }) => {
    const [one, other] = [read(typed ?? ''), read(answered ?? '')]
    return !one || !other || one === other
      ? []
      : [{ path, message: `is ${answered} at the provider: correct it, or the other ids` }]
  })
}

const asTyped = (text: string): string => text

const notListed = () =>
  validationError([{ path: 'phoneNumberId', message: 'is not among the numbers that the provider lists: correct it' }])

/** Meta's codes for a credential without the permission that is needed: 3, 10 and 200 to 299. */
const isPermission = (code: number | null): boolean =>
  code !== null && (code === 3 || code === 10 || (code >= 200 && code <= 299))

/** Name and number of the request, else those of the provider; 503 when it cannot be reached, 422 when it does not. */
export function completeFrom(
  { number, unreachable }: Checked,
  input: { phoneNumber?: string; phoneName?: string },
): { phoneNumber: string; phoneName: string } {
  const phoneNumber = input.phoneNumber ?? number?.phoneNumber
  const phoneName = input.phoneName ?? number?.phoneName
  if (phoneNumber && phoneName) return { phoneNumber, phoneName }
  if (unreachable !== null) {
    throw serviceUnavailable(
      `The provider could not be reached (${unreachable}): give phoneNumber and phoneName to connect without it`,
    )
  }
  const path = phoneNumber ? 'phoneName' : 'phoneNumber'
  throw validationError([{ path, message: 'must be given: the provider does not return it' }])
}

/** By what the provider's events name the app, when the operator did not name it. */
export const appIdOf = (deps: ConnectionDeps, connection: Connection): string | null =>
  connection.appId ?? deps.providers[connection.provider]?.appIdOf(connection) ?? null
