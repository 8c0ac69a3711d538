import { type Static, Type } from 'typebox'
import { nullableText } from '../http/shapes.ts'
import { fold } from '../platform/text/search-text.ts'
import { normalLanguage } from './template.ts'
import type { TemplateRow } from './template-store.ts'

const Passed = (description: string) => Type.Object({}, { additionalProperties: true, description })
const orNull = <Shape extends ReturnType<typeof Passed>>(shape: Shape) => Type.Union([shape, Type.Null()])

export const TEMPLATE_EXAMPLE = {
  id: 'tmpl_2f9c1e7ab04d',
  name: 'order_update',
  language: 'en',
  status: 'APPROVED',
  category: 'UTILITY',
  namespace: null,
  waba_account_id: '102290129340398',
  partner_id: null,
  created_at: '2026-01-12T08:00:00.000Z',
  modified_at: '2026-01-12T08:20:31.000Z',
  updated_external: true,
  rejected_reason: '',
  external_id: '564750795574598',
  created_by: null,
  modified_by: null,
  quality_score: { score: 'GREEN', reasons: [] },
  components: [
    { type: 'BODY', text: 'Hello {{1}}, your order {{2}} is on its way.' },
    { type: 'FOOTER', text: 'Rossi Shoes' },
  ],
}

export const TemplateRecord = Type.Object(
  {
    id: Type.String({ description: 'Template family id, shared by all languages of a template.' }),
    name: Type.String(),
    language: Type.String(),
    status: Type.Enum(['APPROVED', 'PENDING', 'REJECTED', 'DISABLED'], {
      description: 'Only `APPROVED` templates can be sent.',
    }),
    category: Type.String({ description: '`UTILITY`, `AUTHENTICATION` or `MARKETING`.' }),
    namespace: nullableText('Namespace at the provider.'),
    waba_account_id: Type.String({ description: 'Business account id.' }),
    partner_id: nullableText('Partner id.'),
    created_at: Type.String({ format: 'date-time' }),
    modified_at: Type.String({ format: 'date-time' }),
    updated_external: Type.Boolean({ description: 'Whether the provider has reported a template change.' }),
    rejected_reason: Type.String({ description: 'Rejection reason, else an empty string.' }),
    external_id: nullableText('Template id at the provider.'),
    created_by: orNull(Passed('Contains `user_id` and `user_name`.')),
    modified_by: orNull(Passed('Contains `user_id` and `user_name`.')),
    quality_score: orNull(Passed('Contains `score` (`GREEN`, `YELLOW`, `RED` or `UNKNOWN`) and `reasons`.')),
    message_send_ttl_seconds: Type.Optional(
      Type.Integer({
        description: "How many seconds the provider tries to deliver the template's messages, if reported.",
      }),
    ),
    components: Type.Array(Passed('Contains `type`, and by type `format`, `text`, `example` or `buttons`.'), {
      description: "Components in the provider's format.",
    }),
  },
  {
    title: 'Template',
    example: TEMPLATE_EXAMPLE,
  },
)
export type TemplateRecord = Static<typeof TemplateRecord>

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
  ...(row.ttlSeconds !== null && { message_send_ttl_seconds: row.ttlSeconds }),
  components: [...row.components],
  ...row.passedOn,
})

export const TemplateFilter = Type.Object({
  status: Type.Optional(
    Type.Enum(['APPROVED', 'PENDING', 'REJECTED', 'DISABLED'], { description: 'Only templates with this status.' }),
  ),
  category: Type.Optional(
    Type.Enum(['UTILITY', 'AUTHENTICATION', 'MARKETING'], { description: 'Only templates of this category.' }),
  ),
  language: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 16,
      description: 'Only templates in this language; `en_US`, `en-US` and `en_us` are the same.',
    }),
  ),
  search: Type.Optional(
    Type.String({
      maxLength: 200,
      description: "Part of the template's name or text, ignoring case and accents.",
    }),
  ),
})
export type TemplateFilter = Static<typeof TemplateFilter>

export function passesFilter(
  template: TemplateRow,
  { status, category, language, search = '' }: TemplateFilter,
): boolean {
  if (status !== undefined && template.status !== status) return false
  if (category !== undefined && template.category !== category) return false
  if (language !== undefined && normalLanguage(template.language) !== normalLanguage(language)) return false
  const texts = [template.name, ...template.components.map(({ text = '' }) => text)]
  return texts.some((text) => fold(text).includes(fold(search)))
}
