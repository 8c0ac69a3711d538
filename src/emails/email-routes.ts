import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { pathId } from '../http/shapes.ts'
import { emailFailed, transactionalNotFound } from '../platform/errors.ts'
import { parseId } from '../platform/ids.ts'
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

export const TEMPLATE_EMAIL_ERRORS = ['text 400', 'text 500', 'message'] as const

const toOneShotReply = (data: Accepted) => ({ data })

/** Registers the email endpoints (spec: Email; decisions: Email). */
export function emailRoutes(deps: EmailDeps): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.get(
      '/public/v1/emails/:id/stats',
      {
        config: { permissions },
        schema: {
          tags,
          operationId: 'getEmailStats',
          summary: 'Get email statistics',
          description: 'Returns status, opens and clicks of a one-shot or template email.',
          params: Type.Object({ id: Type.String({ title: 'EmailId', description: 'Email id, `eml_…`.' }) }),
          response: { 200: Type.Object({ data: EmailStats }, { description: 'The statistics.' }) },
        },
      },
      async (request) => ({ data: toEmailStats(await getEmail(deps.db, request.caller.companyId, request.params.id)) }),
    )

    app.post(
      '/public/v1/emails',
      {
        config: {
          permissions,
          waitsForWorker: true,
          errors: ['text 400'],
          valueFaults: oneShotFaults,
          onInvalid: refuseEmail('to'),
        },
        schema: {
          tags,
          operationId: 'sendEmail',
          summary: 'Send an email',
          description: ACCEPTED,
          body: OneShotBody,
          response: {
            201: OneShotReply,
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
          summary: 'Get email template statistics',
          description: 'Returns the rates over all emails sent from the template.',
          params: Type.Object({ id: pathId('TransactionalId', "The email template's `transactionalId`.") }),
          response: { 200: Type.Object({ data: TemplateStats }, { description: 'The statistics.' }) },
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
          waitsForWorker: true,
          errors: TEMPLATE_EMAIL_ERRORS,
          valueFaults: templateEmailFaults,
          onInvalid: refuseEmail('recipient'),
          onFailure: emailFailed,
        },
        schema: {
          tags,
          operationId: 'sendTemplateEmail',
          summary: 'Send a template email',
          description: ACCEPTED,
          body: TemplateEmailBody,
          response: {
            200: TemplateEmailReply,
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
        config: { permissions, roles: ['developer'] },
        schema: {
          tags,
          operationId: 'listEmailTemplates',
          summary: 'List email templates',
          description: "Returns all of the company's email templates.",
          response: {
            200: Type.Object({ data: Type.Array(EmailTemplateItem) }, { description: 'All email templates.' }),
          },
        },
      },
      async (request) => ({
        data: (await listEmailTemplates(deps.db, request.caller.companyId)).map(toEmailTemplateItem),
      }),
    )
  }
}

const ACCEPTED = `The email is accepted at once and sent in the background. After a temporary refusal by the mail server, the service retries
for up to 24 hours. After a permanent refusal, the status is \`failed\` and the statistics contain the server's text. Links
redirect through this service to count clicks, and an invisible image counts opens.`
