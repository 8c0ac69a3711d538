import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { operatorErrorResponses } from '../http/shapes.ts'
import type { SenderRecord } from '../senders/sender.ts'
import { connectSender, getSender, listSenders, removeSender, updateSender } from '../senders/sender-admin.ts'
import { senderFaults } from '../senders/sender-values.ts'
import { companyNamed, type OperatorDeps, senderIdNamed } from './operator.ts'
import { NewSenderBody, SenderChangeBody, SenderReply, toSenderReply } from './sender-shape.ts'
import { InCompany, Success } from './shape.ts'

const config = { surface: 'operator' } as const
/** The provider is asked for the templates before the answer. */
const asking = { ...config, takesLong: true } as const
const tags = ['Operator']

const OneSender = Type.Object({
  id: InCompany.properties.id,
  channelId: Type.String({ description: 'Id of the sender, its `channelId`' }),
})

/** A company's connected numbers and their templates (decisions: The operator's side). */
export function senderAdminRoutes(deps: OperatorDeps): FastifyPluginAsyncTypebox {
  const toReply = (sender: SenderRecord) => toSenderReply(sender, deps.webhookGuide(sender))
  const valueFaults = (body: object) => senderFaults(body, deps.cipher)
  return async (app) => {
    app.post(
      '/admin/v1/companies/:id/senders',
      {
        config: { ...asking, valueFaults },
        schema: {
          tags,
          operationId: 'connectSender',
          summary: 'Connect a WhatsApp number',
          description:
            'The credential is tried at the provider, which is asked for name and number unless both are given; 422 names accessToken when it refuses it. A provider that cannot be reached does not stop a number whose name and number are given. The answer says where its events have to come.',
          params: InCompany,
          body: NewSenderBody,
          response: {
            ...operatorErrorResponses({ 400: 'coded', 404: 'message', 409: 'coded', 422: 'coded', 503: 'coded' }),
            201: SenderReply,
          },
        },
      },
      async (request, reply) => {
        const company = await companyNamed(deps.db, request.params.id)
        reply.code(201)
        const sender = await connectSender(deps, company.id, request.body)
        return toReply(sender)
      },
    )

    app.get(
      '/admin/v1/companies/:id/senders',
      {
        config,
        schema: {
          tags,
          operationId: 'listCompanySenders',
          summary: 'List the connected numbers of a company',
          params: InCompany,
          response: { ...operatorErrorResponses({ 404: 'message' }), 200: Type.Array(SenderReply) },
        },
      },
      async (request) => {
        const company = await companyNamed(deps.db, request.params.id)
        return (await listSenders(deps.db, company.id)).map(toReply)
      },
    )

    app.get(
      '/admin/v1/companies/:id/senders/:channelId',
      {
        config,
        schema: {
          tags,
          operationId: 'getSender',
          summary: 'Read a connected number',
          params: OneSender,
          response: { ...operatorErrorResponses({ 404: 'message' }), 200: SenderReply },
        },
      },
      async (request) => {
        const company = await companyNamed(deps.db, request.params.id)
        return toReply(await getSender(deps.db, company.id, senderIdNamed(request.params.channelId)))
      },
    )

    app.patch(
      '/admin/v1/companies/:id/senders/:channelId',
      {
        config: { ...asking, valueFaults },
        schema: {
          tags,
          operationId: 'updateSender',
          summary: 'Change a connected number',
          description: 'Null takes an optional value away. To un-prefer a number, prefer another one.',
          params: OneSender,
          body: SenderChangeBody,
          response: {
            ...operatorErrorResponses({ 400: 'coded', 404: 'message', 409: 'coded', 422: 'coded' }),
            200: SenderReply,
          },
        },
      },
      async (request) => {
        const company = await companyNamed(deps.db, request.params.id)
        const senderId = senderIdNamed(request.params.channelId)
        return toReply(await updateSender(deps, company.id, senderId, request.body))
      },
    )

    app.delete(
      '/admin/v1/companies/:id/senders/:channelId',
      {
        config,
        schema: {
          tags,
          operationId: 'removeSender',
          summary: 'Disconnect a number',
          description: 'It can be connected again, by any company. The oldest that remains takes over a preference.',
          params: OneSender,
          response: { ...operatorErrorResponses({ 404: 'message' }), 200: Success },
        },
      },
      async (request) => {
        const company = await companyNamed(deps.db, request.params.id)
        await removeSender(deps, company.id, senderIdNamed(request.params.channelId))
        return { success: true as const }
      },
    )

    app.post(
      '/admin/v1/companies/:id/templates/sync',
      {
        config: asking,
        schema: {
          tags,
          operationId: 'syncTemplates',
          summary: 'Synchronize the WhatsApp templates with the providers now',
          params: InCompany,
          response: {
            ...operatorErrorResponses({ 404: 'message' }),
            200: Type.Object({ synced: Type.Integer({ description: 'How many templates there are' }) }),
          },
        },
      },
      async (request) => {
        const company = await companyNamed(deps.db, request.params.id)
        return { synced: await deps.syncTemplates(company.id) }
      },
    )
  }
}
