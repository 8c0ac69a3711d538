import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { emailFailed, transactionalNotFound } from '../errors.ts'
import { errorResponses } from '../http/shapes.ts'
import { parseId } from '../ids.ts'
import {
  type Accepted,
  type EmailDeps,
  getEmail,
  oneShotFaults,
  sendOneShot,
  sendTemplateEmail,
  templateEmailFaults,
} from './email.ts'
import { refuseEmail } from './email-faults.ts'
import {
  EmailStats,
  EmailTemplateItem,
  OneShotBody,
  OneShotReply,
  TemplateEmailBody,
  TemplateEmailReply,
  TemplateStats,
  toEmailStats,
  toEmailTemplateItem,
  toTemplateEmailReply,
  toTemplateStats,
} from './email-shape.ts'
import { getEmailTemplateCounts, listEmailTemplates } from './email-template.ts'

const tags = ['Email']
const permissions = ['Transactional'] as const

const toOneShotReply = (data: Accepted) => ({ data })

/** The email endpoints (spec: Email; decisions: Email). */
export function emailRoutes(deps: EmailDeps): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.get(
      '/public/v1/emails/:id/stats',
      {
        config: { permissions },
        schema: {
          tags,
          operationId: 'getEmailStats',
          summary: 'Read the statistics of an email',
          params: Type.Object({ id: Type.String({ description: 'Id of the email, `eml_…`' }) }),
          response: { 200: Type.Object({ data: EmailStats }), ...errorResponses({ 404: 'message' }) },
        },
      },
      async (request) => ({ data: toEmailStats(await getEmail(deps.db, request.caller.companyId, request.params.id)) }),
    )

    app.post(
      '/public/v1/emails',
      {
        config: { permissions, valueFaults: oneShotFaults, onInvalid: refuseEmail('to') },
        schema: {
          tags,
          operationId: 'sendEmail',
          summary: 'Send an email',
          description: ACCEPTED,
          body: OneShotBody,
          response: {
            201: OneShotReply,
            ...errorResponses({ 400: ['text', 'coded'], 409: 'coded', 413: 'coded', 422: 'coded' }),
          },
        },
      },
      async (request, reply) => {
        const { idempotency } = request
        const caller = { companyId: request.caller.companyId, idempotencyId: idempotency?.id ?? null }
        const accepted = await sendOneShot(deps, caller, request.body, (one) => ({
          status: 201,
          body: toOneShotReply(one),
        }))
        if (idempotency) idempotency.isCompleted = true
        reply.code(201)
        return toOneShotReply(accepted)
      },
    )

    app.get(
      '/public/v1/transactionals/:id/stats',
      {
        config: { permissions },
        schema: {
          tags,
          operationId: 'getEmailTemplateStats',
          summary: 'Read the statistics of an email template',
          params: Type.Object({ id: Type.String({ description: '`transactionalId` of the email template' }) }),
          response: { 200: Type.Object({ data: TemplateStats }), ...errorResponses({ 404: 'message' }) },
        },
      },
      async (request) => {
        const id = parseId(request.params.id)
        if (id === undefined) throw transactionalNotFound()
        return { data: toTemplateStats(await getEmailTemplateCounts(deps.db, request.caller.companyId, id)) }
      },
    )

    app.post(
      '/public/v1/templates/email/send',
      {
        config: {
          permissions,
          valueFaults: templateEmailFaults,
          onInvalid: refuseEmail('recipient'),
          onFailure: emailFailed,
        },
        schema: {
          tags,
          operationId: 'sendTemplateEmail',
          summary: 'Send an email made from a template',
          description: ACCEPTED,
          body: TemplateEmailBody,
          response: {
            200: TemplateEmailReply,
            ...errorResponses({
              400: ['text', 'coded'],
              404: 'message',
              409: 'coded',
              413: 'coded',
              422: 'coded',
              500: 'text',
            }),
          },
        },
      },
      async (request) => {
        const { idempotency } = request
        const caller = { companyId: request.caller.companyId, idempotencyId: idempotency?.id ?? null }
        const accepted = await sendTemplateEmail(deps, caller, request.body, (one) => ({
          status: 200,
          body: toTemplateEmailReply(one),
        }))
        if (idempotency) idempotency.isCompleted = true
        return toTemplateEmailReply(accepted)
      },
    )

    app.get(
      '/public/v1/templates/email',
      {
        config: { permissions },
        schema: {
          tags,
          operationId: 'listEmailTemplates',
          summary: 'List the email templates',
          response: { 200: Type.Object({ data: Type.Array(EmailTemplateItem) }), ...errorResponses() },
        },
      },
      async (request) => ({
        data: (await listEmailTemplates(deps.db, request.caller.companyId)).map(toEmailTemplateItem),
      }),
    )
  }
}

const ACCEPTED = `The email is accepted at once and sent in the background. Temporary refusals of the mail server are
retried for up to 24 hours; what it refuses for good shows as \`failed\` with its words in the statistics. Links lead
through an address of this service that counts clicks, and an invisible image counts opens.`
