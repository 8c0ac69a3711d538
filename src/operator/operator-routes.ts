import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { accountEventRoutes } from './account-event-routes.ts'
import { apiKeyRoutes } from './api-key-routes.ts'
import { companyRoutes } from './company-routes.ts'
import { emailAdminRoutes } from './email-admin-routes.ts'
import { eventRoutes } from './event-routes.ts'
import { jobRoutes } from './job-routes.ts'
import type { OperatorDeps } from './operator.ts'
import { senderAdminRoutes } from './sender-admin-routes.ts'
import { suppressionRoutes } from './suppression-routes.ts'

/** The operator's API, /admin/v1: companies, their keys, their connected numbers, their email, and the events and jobs that failed. */
export function operatorRoutes(deps: OperatorDeps): FastifyPluginAsyncTypebox {
  return async (app) => {
    await app.register(companyRoutes(deps))
    await app.register(apiKeyRoutes(deps))
    await app.register(senderAdminRoutes(deps))
    await app.register(emailAdminRoutes(deps))
    await app.register(suppressionRoutes(deps))
    await app.register(eventRoutes(deps))
    await app.register(accountEventRoutes(deps))
    await app.register(jobRoutes(deps))
  }
}
