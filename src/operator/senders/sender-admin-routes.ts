import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { completeKey } from '../../http/idempotency/idempotency.ts'
import { pathId, Success } from '../../http/shapes.ts'
import type { SenderRecord } from '../../senders/sender.ts'
import { connectSender, getSender, listSenders, removeSender, updateSender } from '../../senders/sender-admin.ts'
import { senderFaults } from '../../senders/sender-values.ts'
import { companyIdNamed, type OperatorDeps, senderIdNamed, succeed } from '../operator.ts'
import { InCompany } from '../shape.ts'
import { NewSenderBody, SenderChangeBody, SenderReply, toSenderReply } from './sender-shape.ts'

/** Fetches templates from the provider before responding. */
const asking = { takesLong: true } as const

const OneSender = Type.Object({
  id: InCompany.properties.id,
  channelId: pathId('ChannelId', "The number's `channelId`."),
})

export function senderAdminRoutes(deps: OperatorDeps): FastifyPluginAsyncTypebox {
  const toReply = (sender: SenderRecord) => toSenderReply(sender, deps.webhookGuide(sender))
  const valueFaults = (body: object) => senderFaults(body, deps.cipher)
  return async (app) => {
    app.post(
      '/admin/v1/companies/:id/senders',
      {
        config: { ...asking, errors: ['duplicate_resource'], valueFaults },
        schema: {
          operationId: 'connectSender',
          summary: 'Connect a WhatsApp number',
          description:
            "Tries the credential at the provider and reads name and number, unless both are given. If the provider refuses the credential, the answer is 422 for `accessToken`. A number with a given name and number is connected even if the provider can't be reached. The answer contains the URL for events.",
          params: InCompany,
          body: NewSenderBody,
          response: {
            201: SenderReply,
          },
        },
      },
      async (request, reply) => {
        const companyId = await companyIdNamed(deps.db, request.params.id)
        reply.code(201)
        const onSenderConnected: OperatorDeps['onSenderConnected'] = async (tx, companyId, sender) => {
          await deps.onSenderConnected(tx, companyId, sender)
          await completeKey(tx, request, reply, 201, toReply(sender))
        }
        return toReply(await connectSender({ ...deps, onSenderConnected }, companyId, request.body))
      },
    )

    app.get(
      '/admin/v1/companies/:id/senders',
      {
        schema: {
          operationId: 'listCompanySenders',
          summary: "List a company's numbers",
          description: "Returns all of the company's connected numbers.",
          params: InCompany,
          response: { 200: Type.Array(SenderReply, { description: 'All of them.' }) },
        },
      },
      async ({ params }) => (await listSenders(deps.db, await companyIdNamed(deps.db, params.id))).map(toReply),
    )

    app.get(
      '/admin/v1/companies/:id/senders/:channelId',
      {
        schema: {
          operationId: 'getSender',
          summary: 'Get a connected number',
          description: 'Returns one connected number.',
          params: OneSender,
          response: { 200: SenderReply },
        },
      },
      async ({ params }) => {
        const companyId = await companyIdNamed(deps.db, params.id)
        return toReply(await getSender(deps.db, companyId, senderIdNamed(params.channelId)))
      },
    )

    app.patch(
      '/admin/v1/companies/:id/senders/:channelId',
      {
        config: { ...asking, errors: ['duplicate_resource'], valueFaults },
        schema: {
          operationId: 'updateSender',
          summary: 'Update a connected number',
          description:
            'Omitted members stay unchanged; null removes an optional value. To stop preferring a number, prefer another one.',
          params: OneSender,
          body: SenderChangeBody,
          response: {
            200: SenderReply,
          },
        },
      },
      async ({ body, params }) => {
        const companyId = await companyIdNamed(deps.db, params.id)
        return toReply(await updateSender(deps, companyId, senderIdNamed(params.channelId), body))
      },
    )

    app.delete(
      '/admin/v1/companies/:id/senders/:channelId',
      {
        schema: {
          operationId: 'removeSender',
          summary: 'Disconnect a number',
          description:
            'Any company can connect the number again. If it was preferred, the oldest remaining number becomes preferred.',
          params: OneSender,
          response: { 200: Success },
        },
      },
      async ({ params }) => {
        const companyId = await companyIdNamed(deps.db, params.id)
        return succeed(removeSender(deps, companyId, senderIdNamed(params.channelId)))
      },
    )

    app.post(
      '/admin/v1/companies/:id/templates/sync',
      {
        config: asking,
        schema: {
          operationId: 'syncTemplates',
          summary: 'Sync WhatsApp templates',
          description: 'Reads all templates of the connected accounts from the providers now.',
          params: InCompany,
          response: {
            200: Type.Object(
              { synced: Type.Integer({ description: 'Number of templates.' }) },
              { title: 'TemplateSync', description: 'The templates were read.', example: { synced: 14 } },
            ),
          },
        },
      },
      async (request, reply) => {
        const answer = { synced: await deps.syncTemplates(await companyIdNamed(deps.db, request.params.id)) }
        await completeKey(deps.db, request, reply, 200, answer)
        return answer
      },
    )
  }
}
