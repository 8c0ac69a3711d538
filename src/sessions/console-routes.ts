import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import type { Pool } from '../db/connect.ts'
import type { Config } from '../platform/settings/config.ts'
import { type PageDeps, pageRoutes } from './page-routes.ts'
import type { ConsoleSessions } from './session.ts'
import { sessionRoutes } from './session-routes.ts'
import type { Features } from './session-shape.ts'
import { signInLinkRoutes } from './sign-in-link-routes.ts'

export type ConsoleDeps = PageDeps & {
  db: Pool
  config: Pick<Config, 'baseUrl'>
  sessions: ConsoleSessions
  features: Features
  addressOf: (request: FastifyRequest) => string
}

/** Serves the web console's pages, sessions and sign-in links. The console uses the API for everything else, below a prefix. */
export function consoleRoutes(deps: ConsoleDeps): FastifyPluginAsyncTypebox {
  return async (app) => {
    await app.register(pageRoutes(deps))
    await app.register(sessionRoutes(deps))
    await app.register(signInLinkRoutes({ ...deps, operatorId: deps.sessions.operatorId }))
  }
}
