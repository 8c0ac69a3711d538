import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { Success } from '../../http/shapes.ts'
import { TEMPLATE_EXAMPLE, TemplateRecord, toTemplateRecord } from '../template-record.ts'
import { deleteTemplate, type ManageDeps, saveTemplate } from './manage-templates.ts'
import { CONTENTS_EXAMPLE, TemplateBody, TemplatePlace, toTemplateRequest } from './template-body.ts'

const config = {
  permissions: ['WhatsApp'],
  roles: ['admin'],
  waitsForOthers: true,
  errors: ['WHATSAPP_SENDER_NOT_FOUND', 'no_whatsapp_account', 'template_not_found'],
} as const

const SAVE_DESCRIPTION = `Creates or changes the template in this language; it is \`PENDING\` until the provider's review (\`whatsapp.template.status\`
reports the outcome). The provider's rules are checked first; if the provider refuses, the answer is 422 with its reason.
Repeating a request, or writing a record back as read, changes nothing. If a transport can't do this, the 422 names it.`

const PENDING_EXAMPLE = {
  data: {
    ...TEMPLATE_EXAMPLE,
    status: 'PENDING',
    modified_at: TEMPLATE_EXAMPLE.created_at,
    updated_external: false,
    quality_score: null,
    ...CONTENTS_EXAMPLE,
  },
}

export function manageRoutes(deps: ManageDeps): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.put(
      '/public/v1/templates/whatsapp/:name/:language',
      {
        config,
        schema: {
          tags: ['WhatsApp'],
          operationId: 'saveWhatsAppTemplate',
          summary: 'Create or update a template',
          description: SAVE_DESCRIPTION,
          params: TemplatePlace,
          body: TemplateBody,
          response: {
            200: Type.Object(
              { data: TemplateRecord },
              { description: 'The template, changed or unchanged.', example: PENDING_EXAMPLE },
            ),
            201: Type.Object(
              { data: TemplateRecord },
              { description: 'The template was created.', example: PENDING_EXAMPLE },
            ),
          },
        },
      },
      async (request, reply) => {
        const { sender, ...body } = request.body
        const requested = { ...request.params, ...toTemplateRequest(body) }
        const { template, isNew } = await saveTemplate(deps, request.caller.companyId, sender, requested)
        return reply.code(isNew ? 201 : 200).send({ data: toTemplateRecord(template) })
      },
    )

    app.delete(
      '/public/v1/templates/whatsapp/:name',
      {
        config,
        schema: {
          tags: ['WhatsApp'],
          operationId: 'deleteWhatsAppTemplate',
          summary: 'Delete a WhatsApp template',
          description:
            "Deletes the template in all languages, here and at the provider. The provider doesn't accept an approved template's name again for 30 days.",
          params: Type.Object({ name: TemplatePlace.properties.name }),
          querystring: Type.Object({ sender: TemplateBody.properties.sender }),
          response: { 200: Success },
        },
      },
      async (request) => {
        await deleteTemplate(deps, request.caller.companyId, request.query.sender, request.params.name)
        return { success: true } as const
      },
    )
  }
}
