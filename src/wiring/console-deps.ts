import { fileURLToPath } from 'node:url'
import { clientAddress, requestedHost, trustedProxies } from '../http/admission/rules.ts'
import { ROOT } from '../platform/program-file.ts'
import type { ConsoleDeps } from '../sessions/console-routes.ts'
import type { ConsoleSessions } from '../sessions/session.ts'
import type { Deps } from './deps.ts'

const PAGES_FOLDER = fileURLToPath(new URL('console/dist', ROOT))

export function createConsoleDeps({ db, config, sandboxUrl }: Deps, sessions: ConsoleSessions): ConsoleDeps {
  const { sessionWindow, marketingWindow, serviceName } = config
  const isTrusted = trustedProxies(config.trustProxy)
  return {
    db,
    config,
    sessions,
    pagesFolder: PAGES_FOLDER,
    sandboxUrl,
    hostOf: (request) => requestedHost(request, isTrusted),
    features: { sandboxUrl: sandboxUrl ?? null, sessionWindow, marketingWindow, serviceName },
    addressOf: ({ raw }) => clientAddress(raw, isTrusted),
  }
}
