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

const SAVE_DESCRIPTION = `Creates the template in this language, or changes the one that exists; it is \`PENDING\` until the provider has reviewed it
(\`whatsapp.template.status\` reports the outcome). The rules of the provider are checked before, and a refusal of the provider is
answered 422 with its reason. A repeated request changes nothing, and neither does a record that is written back as it was read. A transport that cannot do this is named in the 422.`

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
          summary: 'Create or change a WhatsApp template',
          description: SAVE_DESCRIPTION,
          params: TemplatePlace,
          body: TemplateBody,
          response: {
            200: Type.Object(
              { data: TemplateRecord },
              { description: 'The template, changed or as it was.', example: PENDING_EXAMPLE },
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
            'Deletes the template in all languages, here and at the provider. The provider does not accept the name of an approved template again for 30 days.',
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
