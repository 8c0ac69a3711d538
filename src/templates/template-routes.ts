import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import type { Db } from '../db/connect.ts'
import { ROLES } from '../http/admission/role.ts'
import { noWhatsappAccount } from '../platform/errors.ts'
import { passesFilter, TEMPLATE_EXAMPLE, TemplateFilter, TemplateRecord, toTemplateRecord } from './template-record.ts'
import { hasSender, listTemplates } from './template-store.ts'

export function templateRoutes(deps: { db: Db }): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.get(
      '/public/v1/templates/whatsapp',
      {
        config: { roles: ROLES, errors: ['no_whatsapp_account'] },
        schema: {
          tags: ['WhatsApp'],
          operationId: 'listWhatsAppTemplates',
          summary: 'List WhatsApp templates',
          description:
            "Returns the connected accounts' templates, ordered by name, then language. Without a connected number, the answer is 404 `no_whatsapp_account`.",
          querystring: TemplateFilter,
          response: {
            200: Type.Object(
              { data: Type.Array(TemplateRecord) },
              { description: 'All templates.', example: { data: [TEMPLATE_EXAMPLE] } },
            ),
          },
        },
      },
      async (request) => {
        const { companyId } = request.caller
        const templates = await listTemplates(deps.db, companyId)
        if (templates.length === 0 && !(await hasSender(deps.db, companyId))) throw noWhatsappAccount()
        return { data: templates.filter((template) => passesFilter(template, request.query)).map(toTemplateRecord) }
      },
    )
  }
}
