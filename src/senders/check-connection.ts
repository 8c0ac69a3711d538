import { providerThrottled, serviceUnavailable, validationError } from '../platform/errors.ts'
import { providerMessage } from '../providers/graph-answer.ts'
import type { ProviderNumber, Providers, SenderAccess } from '../providers/provider.ts'
import type { ProviderName } from '../providers/provider-name.ts'
import { parseSenderPhone } from './sender.ts'

export type ConnectionDeps = {
  providers: Providers
  /** Called when a number is connected without a check. */
  onUnchecked(reason: string): void
}

export type Connection = SenderAccess & { provider: ProviderName }

export type Checked = { number: ProviderNumber | undefined; unreachable: string | null }

/**
 * Checks a credential at the provider. An unreachable provider must not prevent a connection; a refusal must.
 * @throws {AppError} 422 with the provider's error or wrong ids; 429 if throttled
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
    // A number without an id neither confirms nor denies.
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

function compare(number: ProviderNumber, connection: Connection, typedPhone: string | undefined) {
  const pairs = [
    { path: 'wabaAccountId', typed: connection.wabaAccountId, answered: number.wabaAccountId, read: asTyped },
    { path: 'appId', typed: connection.appId, answered: number.appId, read: asTyped },
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

/** Meta's permission errors: 3, 10 and 200 to 299. */
const isPermission = (code: number | null): boolean =>
  code !== null && (code === 3 || code === 10 || (code >= 200 && code <= 299))

/** Completes name and number from the provider. 503 if unreachable, 422 if the provider doesn't return them. */
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

export const appIdOf = (deps: ConnectionDeps, connection: Connection): string | null =>
  connection.appId ?? deps.providers[connection.provider]?.appIdOf(connection) ?? null
