import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import type { Pool } from '../db/connect.ts'
import type { Config } from '../platform/settings/config.ts'
import { type PageDeps, pageRoutes } from './page-routes.ts'
import type { ConsoleSessions } from './session.ts'
import { sessionRoutes } from './session-routes.ts'
import type { Features } from './session-shape.ts'
import { signInLinkRoutes } from './sign-in-link-routes.ts'

/** The dependencies of the web console. */
export type ConsoleDeps = PageDeps & {
  db: Pool
  config: Pick<Config, 'baseUrl'>
  sessions: ConsoleSessions
  features: Features
  /** The client's address, for the log of sign-ins. */
  addressOf: (request: FastifyRequest) => string
}

/** The web console: pages, sessions, sign-in links. The rest of the console's API is the API itself, below a prefix. */
export function consoleRoutes(deps: ConsoleDeps): FastifyPluginAsyncTypebox {
  return async (app) => {
    await app.register(pageRoutes(deps))
    await app.register(sessionRoutes(deps))
    await app.register(signInLinkRoutes({ ...deps, operatorId: deps.sessions.operatorId }))
  }
}
