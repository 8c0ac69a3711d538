import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import type { Pool } from '../db/connect.ts'
import { ROLES } from '../http/admission/role.ts'
import { answerOnce } from '../http/idempotency/idempotency.ts'
import { pathId } from '../http/shapes.ts'
import { badRequest, customFieldNotFound, invalidGroupBy } from '../platform/errors.ts'
import { parseId } from '../platform/ids.ts'
import {
  changeCustomField,
  createCustomField,
  groupCustomFields,
  listCustomFields,
  orderCustomFields,
} from './custom-field.ts'
import {
  CustomFieldBodyShape,
  CustomFieldChangeShape,
  CustomFieldReply,
  customFieldFaults,
  GroupedCustomFields,
  parseCustomField,
  refuseMissing,
  toCustomFieldReply,
  toGroupedField,
} from './custom-field-shape.ts'

export type CustomFieldRoutesDeps = { db: Pool }

const TAGS = ['Custom fields']
const ANY_FULL_KEY = { surface: 'api-key', permissions: ['WhatsApp', 'Transactional'] } as const
const ORDER_MAX_IDS = 1_000

/** Registers the custom field endpoints (spec: Custom fields; decisions: Contacts and custom fields). */
export function customFieldRoutes(deps: CustomFieldRoutesDeps): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.post(
      '/public/v1/custom-fields',
      {
        config: {
          ...ANY_FULL_KEY,
          errors: ['text 400', 'text 409'],
          valueFaults: customFieldFaults,
          onInvalid: refuseMissing,
        },
        schema: {
          tags: TAGS,
          operationId: 'createCustomField',
          summary: 'Create a custom field',
          description:
            'Optional: contacts can have custom fields without a definition. A new definition is last in order.',
          body: CustomFieldBodyShape,
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
        config: { ...ANY_FULL_KEY, roles: ROLES, errors: ['invalid_group_by', 'validation_error'] },
        schema: {
          tags: TAGS,
          operationId: 'listCustomFields',
          summary: 'List custom fields',
          description: 'Returns all definitions in order, or with `groupBy` the definitions by category.',
          querystring: Type.Object({
            groupBy: Type.Optional(
              Type.Unsafe<string>({
                type: 'string',
                enum: ['category'],
                description: 'Groups the definitions.',
                'x-lenient': true,
              }),
            ),
            includeRetired: Type.Optional(Type.Boolean({ description: 'Whether to include retired definitions.' })),
          }),
          response: {
            200: Type.Object(
              { data: Type.Union([Type.Array(CustomFieldReply), GroupedCustomFields]) },
              { description: 'The definitions.' },
            ),
          },
        },
      },
      async (request) => {
        const { groupBy, includeRetired = false } = request.query
        const { companyId } = request.caller
        if (groupBy !== undefined && groupBy !== 'category') throw invalidGroupBy()
        const fields = await listCustomFields(deps.db, companyId, includeRetired)
        if (groupBy === undefined) return { data: fields.map(toCustomFieldReply) }
        const groups = groupCustomFields(fields)
        return {
          data: {
            groups: groups.map(({ category, fields: members }) => ({ category, fields: members.map(toGroupedField) })),
            total: fields.length,
          },
        }
      },
    )

    app.put(
      '/public/v1/custom-fields/order',
      {
        config: { ...ANY_FULL_KEY, errors: ['message'] },
        schema: {
          tags: TAGS,
          operationId: 'orderCustomFields',
          summary: 'Reorder custom fields',
          description:
            'Lists and forms show the definitions in this order. Omitted ones follow in their present order.',
          body: Type.Object(
            {
              ids: Type.Array(Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }), {
                minItems: 1,
                maxItems: ORDER_MAX_IDS,
                uniqueItems: true,
                description: 'Definition ids in the desired order.',
              }),
            },
            { title: 'CustomFieldOrder', example: { ids: [9, 4, 7] } },
          ),
          response: {
            200: Type.Object(
              { data: Type.Array(CustomFieldReply) },
              { description: 'All definitions in order, including retired ones.' },
            ),
          },
        },
      },
      async (request) => {
        const fields = await orderCustomFields(deps.db, request.caller.companyId, request.body.ids)
        return { data: fields.map(toCustomFieldReply) }
      },
    )

    app.patch(
      '/public/v1/custom-fields/:id',
      {
        config: ANY_FULL_KEY,
        schema: {
          tags: TAGS,
          operationId: 'updateCustomField',
          summary: 'Update a custom field',
          description:
            "Omitted members stay unchanged; the record is accepted as read. `key` and `type` can't change. A retired definition is hidden from lists, and contacts keep their values.",
          params: Type.Object({ id: pathId('CustomFieldId', 'Definition id.') }),
          body: CustomFieldChangeShape,
          response: { 200: Type.Object({ data: CustomFieldReply }, { description: 'The definition.' }) },
        },
      },
      async (request) => {
        const id = parseId(request.params.id)
        if (id === undefined) throw customFieldNotFound()
        if (Object.keys(request.body).length === 0) {
          throw badRequest('displayName, category, visibility, allowedValues or retired must be given')
        }
        const { companyId } = request.caller
        return { data: toCustomFieldReply(await changeCustomField(deps.db, companyId, id, request.body)) }
      },
    )
  }
}
