import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import type { Pool } from '../db/connect.ts'
import { invalidGroupBy } from '../errors.ts'
import { ROLES } from '../http/admission/role.ts'
import { answerOnce } from '../http/idempotency/idempotency.ts'
import { nullableText } from '../http/shapes.ts'
import { createCustomField, listCustomFieldGroups, listCustomFields } from './custom-field.ts'
import { CustomFieldBodyShape, CustomFieldTypeShape, parseCustomField } from './custom-field-definition.ts'
import type { CustomField } from './custom-field-store.ts'

export type CustomFieldRoutesDeps = { db: Pool }

const TAGS = ['Custom fields']
const ANY_FULL_KEY = { surface: 'api-key', permissions: ['WhatsApp', 'Transactional'] } as const

const CustomFieldReply = Type.Object(
  {
    id: Type.Integer(),
    key: Type.String({ description: 'The key in upper case.' }),
    displayName: Type.String({ description: 'The label to show.' }),
    type: CustomFieldTypeShape,
    category: nullableText('The group of the field.'),
    visibility: Type.Boolean({ description: 'Whether the field is visible.' }),
    source: Type.String({ description: '`Manual` for fields that were created through the API.' }),
    allowedValues: Type.Unsafe<string[] | null>({
      type: ['array', 'null'],
      items: { type: 'string' },
      description: 'The values that may be chosen, for the type `select`.',
    }),
    metadata: Type.Unsafe<Record<string, unknown> | null>({
      type: ['object', 'null'],
      additionalProperties: true,
      description: 'Any JSON members.',
    }),
  },
  {
    title: 'CustomField',
    example: {
      id: 9,
      key: 'LOYALTY_TIER',
      displayName: 'Loyalty tier',
      type: 'select',
      category: 'Loyalty',
      visibility: true,
      source: 'Manual',
      allowedValues: ['silver', 'gold'],
      metadata: null,
    },
  },
)

const Grouped = Type.Object(
  {
    groups: Type.Array(
      Type.Object({
        category: Type.String(),
        fields: Type.Array(
          Type.Object({
            id: Type.Integer(),
            key: Type.String(),
            displayName: Type.String(),
            type: CustomFieldTypeShape,
          }),
        ),
      }),
    ),
    total: Type.Integer({ description: 'The number of fields in all groups.' }),
  },
  {
    title: 'CustomFieldGroups',
    example: {
      groups: [
        {
          category: 'Loyalty',
          fields: [{ id: 9, key: 'LOYALTY_TIER', displayName: 'Loyalty tier', type: 'select' }],
        },
      ],
      total: 1,
    },
  },
)

/** The custom field endpoints (spec: Custom fields; decisions: Contacts and custom fields). */
export function customFieldRoutes(deps: CustomFieldRoutesDeps): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.post(
      '/public/v1/custom-fields',
      {
        config: { ...ANY_FULL_KEY, errors: ['text 400', 'text 409'] },
        // The handler checks the body: a missing member has an answer of its own here.
        validatorCompiler: () => () => true,
        schema: {
          tags: TAGS,
          operationId: 'createCustomField',
          summary: 'Define a custom field',
          description: 'Contacts can have custom fields without a definition, too.',
          body: Type.Optional(CustomFieldBodyShape),
          response: { 201: Type.Object({ data: CustomFieldReply }, { description: 'The definition.' }) },
        },
      },
      async (request, reply) => {
        const definition = parseCustomField(request.body)
        return answerOnce(deps.db, request, reply, 201, async (tx) => ({
          data: toCustomFieldReply(await createCustomField(tx, request.caller.companyId, definition)),
        }))
      },
    )

    app.get(
      '/public/v1/custom-fields',
      {
        config: { ...ANY_FULL_KEY, roles: ROLES, errors: ['invalid_group_by'] },
        schema: {
          tags: TAGS,
          operationId: 'listCustomFields',
          summary: 'List custom fields',
          description: 'Returns all definitions, or with `groupBy` the definitions of each category.',
          querystring: Type.Object({
            groupBy: Type.Optional(
              Type.Unsafe<string>({
                type: 'string',
                enum: ['category'],
                description: 'Groups the definitions.',
                'x-lenient': true,
              }),
            ),
          }),
          response: {
            200: Type.Object(
              { data: Type.Union([Type.Array(CustomFieldReply), Grouped]) },
              { description: 'The definitions.' },
            ),
          },
        },
      },
      async (request) => {
        const { groupBy } = request.query
        const { companyId } = request.caller
        if (groupBy !== undefined && groupBy !== 'category') throw invalidGroupBy()
        if (groupBy === undefined) return { data: (await listCustomFields(deps.db, companyId)).map(toCustomFieldReply) }
        const groups = await listCustomFieldGroups(deps.db, companyId)
        return {
          data: {
            groups: groups.map(({ category, fields }) => ({ category, fields: fields.map(toGroupedField) })),
            total: groups.reduce((sum, group) => sum + group.fields.length, 0),
          },
        }
      },
    )
  }
}

const toCustomFieldReply = (field: CustomField) => ({
  id: field.id,
  key: field.key,
  displayName: field.displayName,
  type: field.type,
  category: field.category,
  visibility: field.visibility,
  source: field.source,
  allowedValues: field.allowedValues === null ? null : [...field.allowedValues],
  metadata: field.metadata,
})

const toGroupedField = ({ id, key, displayName, type }: CustomField) => ({ id, key, displayName, type })
