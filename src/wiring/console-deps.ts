import type { ConsoleDeps } from '../console/console-routes.ts'
import type { ConsoleSessions } from '../console/session.ts'
import { clientAddress, trustedProxies } from '../http/client-address.ts'
import type { Deps } from './deps.ts'

/** The dependencies of the web console, which is on. */
export function createConsoleDeps({ db, config, sandboxUrl }: Deps, sessions: ConsoleSessions): ConsoleDeps {
  const { sessionWindow, marketingWindow } = config
  const isTrusted = trustedProxies(config.trustProxy)
  return {
    db,
    config,
    sessions,
    features: { sandboxUrl: sandboxUrl ?? null, sessionWindow, marketingWindow },
    addressOf: ({ raw }) => clientAddress(raw, isTrusted),
  }
}
