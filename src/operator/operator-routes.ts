import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { accountEventRoutes } from './companies/account-event-routes.ts'
import { apiKeyRoutes } from './companies/api-key-routes.ts'
import { companyRoutes } from './companies/company-routes.ts'
import { emailAdminRoutes } from './emails/email-admin-routes.ts'
import { suppressionRoutes } from './emails/suppression-routes.ts'
import type { OperatorDeps } from './operator.ts'
import { eventRoutes } from './queues/event-routes.ts'
import { jobRoutes } from './queues/job-routes.ts'
import { senderAdminRoutes } from './senders/sender-admin-routes.ts'

/** Registers /admin/v1 (decisions: The operator's side). */
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
