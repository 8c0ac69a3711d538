import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from 'typebox'
import type { Db } from '../db/connect.ts'
import { noWhatsappAccount } from '../errors.ts'
import { errorResponses } from '../http/shapes.ts'
import { hasSender, listTemplates, type TemplateRow } from './template-store.ts'

const Nullable = <T extends Parameters<typeof Type.Union>[0][number]>(shape: T) => Type.Union([shape, Type.Null()])
const Passed = Type.Object({}, { additionalProperties: true })

export const TemplateRecord = Type.Object({
  id: Type.String({ description: 'Template family id: the same for all languages, for ever' }),
  name: Type.String(),
  language: Type.String(),
  status: Type.Enum(['APPROVED', 'PENDING', 'REJECTED', 'DISABLED']),
  category: Type.String({ description: '`UTILITY`, `AUTHENTICATION` or `MARKETING`' }),
  namespace: Nullable(Type.String()),
  waba_account_id: Type.String(),
  partner_id: Nullable(Type.String()),
  created_at: Type.String({ format: 'date-time' }),
  modified_at: Type.String({ format: 'date-time' }),
  updated_external: Type.Boolean({ description: 'Whether a change came from the provider since we first saw it' }),
  rejected_reason: Type.String({ description: 'Empty when not rejected' }),
  external_id: Nullable(Type.String({ description: "The provider's own id" })),
  created_by: Nullable(Passed),
  modified_by: Nullable(Passed),
  quality_score: Nullable(Passed),
  components: Type.Array(Passed, { description: 'As the provider gave them' }),
})
export type TemplateRecord = Static<typeof TemplateRecord>

export function templateRoutes(deps: { db: Db }): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.get(
      '/public/v1/templates/whatsapp',
      {
        schema: {
          tags: ['WhatsApp'],
          operationId: 'listWhatsAppTemplates',
          summary: 'List the WhatsApp templates',
          description:
            'All templates of the connected accounts, by name, then language. 404 `no_whatsapp_account` while no number is connected.',
          response: { 200: Type.Object({ data: Type.Array(TemplateRecord) }), ...errorResponses({ 404: 'coded' }) },
        },
      },
      async (request) => {
        const { companyId } = request.caller
        const templates = await listTemplates(deps.db, companyId)
        if (templates.length === 0 && !(await hasSender(deps.db, companyId))) throw noWhatsappAccount()
        return { data: templates.map(toTemplateRecord) }
      },
    )
  }
}

export const toTemplateRecord = (row: TemplateRow): TemplateRecord => ({
  id: row.familyId,
  name: row.name,
  language: row.language,
  status: row.status,
  category: row.category,
  namespace: row.namespace,
  waba_account_id: row.wabaAccountId,
  partner_id: row.partnerId,
  created_at: row.createdAt.toISOString(),
  modified_at: row.modifiedAt.toISOString(),
  updated_external: row.updatedExternal,
  rejected_reason: row.rejectedReason,
  external_id: row.externalId,
  created_by: row.createdBy,
  modified_by: row.modifiedBy,
  quality_score: row.qualityScore && { reasons: [], ...row.qualityScore },
  components: [...row.components],
})
