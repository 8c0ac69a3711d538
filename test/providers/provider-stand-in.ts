import { startSandbox } from '../../sandbox/sandbox.ts'
import { NO_PROXIES } from '../../src/platform/outgoing/proxies.ts'
import type { SenderAccess } from '../../src/providers/provider.ts'
import type { ProviderName } from '../../src/providers/provider-name.ts'
import type { ProviderUnderTest } from '../../src/providers/provider-suite.ts'
import { createProviders } from '../../src/wiring/adapters.ts'

export const NUMBER_ID = '777000111222333'
const ACCOUNT_ID = '888000111222333'
const APP_ID = '0f8fad5b-d9cb-469f-a165-70867728950e'

/** An adapter before the sandbox, with a number of its own there. */
export async function startProvider(
  name: ProviderName,
  base: string,
  accessToken: string,
  ids: object,
): Promise<ProviderUnderTest> {
  const sandbox = await startSandbox()
  const control = async (method: string, path: string, body?: unknown): Promise<unknown> => {
    const answer = await fetch(`${sandbox.url}/sandbox${path}`, {
      method,
      ...(body !== undefined && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
    })
    const received = await answer.json()
    if (!answer.ok) throw new Error(JSON.stringify(received))
    return received
  }
  await control('POST', '/numbers', {
    phoneNumberId: NUMBER_ID,
    displayPhoneNumber: '+39 333 0001122',
    verifiedName: 'Suite',
    wabaAccountId: ACCOUNT_ID,
    ...(name === 'gupshup' && { app: { id: APP_ID, name: 'SuiteApp' } }),
  })
  const access: SenderAccess = {
    phoneNumberId: NUMBER_ID,
    wabaAccountId: ACCOUNT_ID,
    accessToken,
    apiBaseUrl: `${sandbox.url}${base.replace('{appId}', APP_ID)}`,
    appId: null,
  }
  const provider = createProviders({ graphVersion: 'v25.0', providerTimeoutMs: 1_000, proxies: NO_PROXIES })[name]
  if (provider === undefined) throw new Error(`There is no adapter ${name}`)
  return { provider, access, control, ids, stop: sandbox.stop }
}
