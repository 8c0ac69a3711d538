import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { emailSettingsFaults, getEmailSettings, setEmailSettings } from '../../emails/email-settings.ts'
import {
  createEmailTemplate,
  emailTemplateFaults,
  getEmailTemplate,
  listEmailTemplates,
  removeEmailTemplate,
  updateEmailTemplate,
} from '../../emails/email-template.ts'
import { answerOnce } from '../../http/idempotency/idempotency.ts'
import { Success } from '../../http/shapes.ts'
import { companyIdNamed, type OperatorDeps, succeed } from '../operator.ts'
import { InCompany } from '../shape.ts'
import {
  EmailSettingsBody,
  EmailSettingsReply,
  EmailTemplateChangeBody,
  EmailTemplateReply,
  NewEmailTemplateBody,
  toEmailSettingsReply,
  toEmailTemplateReply,
} from './email-admin-shape.ts'

const TEMPLATES = '/admin/v1/companies/:id/email-templates'
const TEMPLATE = `${TEMPLATES}/:templateId`
const SETTINGS = '/admin/v1/companies/:id/email-settings'

const OneTemplate = Type.Object({
  id: InCompany.properties.id,
  templateId: Type.String({ description: 'Template id, `tmpl_…`.' }),
})

export function emailAdminRoutes(deps: OperatorDeps): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.post(
      TEMPLATES,
      {
        config: { waitsForWorker: true, valueFaults: emailTemplateFaults },
        schema: {
          operationId: 'createEmailTemplate',
          summary: 'Create an email template',
          description: 'Creates a template from Liquid texts.',
          params: InCompany,
          body: NewEmailTemplateBody,
          response: { 201: EmailTemplateReply },
        },
      },
      async (request, reply) => {
        const companyId = await companyIdNamed(deps.db, request.params.id)
        return answerOnce(deps.db, request, reply, 201, async (tx) =>
          toEmailTemplateReply(await createEmailTemplate(tx, companyId, request.body)),
        )
      },
    )

    app.get(
      TEMPLATES,
      {
        schema: {
          operationId: 'listCompanyEmailTemplates',
          summary: "List a company's email templates",
          description: "Returns all of the company's email templates.",
          params: InCompany,
          response: { 200: Type.Array(EmailTemplateReply, { description: 'All of them.' }) },
        },
      },
      async ({ params }) => {
        const templates = await listEmailTemplates(deps.db, await companyIdNamed(deps.db, params.id))
        return templates.map(toEmailTemplateReply)
      },
    )

    app.get(
      TEMPLATE,
      {
        schema: {
          operationId: 'getEmailTemplate',
          summary: 'Get an email template',
          description: 'Returns one email template.',
          params: OneTemplate,
          response: { 200: EmailTemplateReply },
        },
      },
      async ({ params }) => {
        const companyId = await companyIdNamed(deps.db, params.id)
        return toEmailTemplateReply(await getEmailTemplate(deps.db, companyId, params.templateId))
      },
    )

    app.patch(
      TEMPLATE,
      {
        config: { waitsForWorker: true, valueFaults: emailTemplateFaults },
        schema: {
          operationId: 'updateEmailTemplate',
          summary: 'Update an email template',
          description: "Omitted members stay unchanged. Emails already accepted don't change.",
          params: OneTemplate,
          body: EmailTemplateChangeBody,
          response: { 200: EmailTemplateReply },
        },
      },
      async ({ body, params }) => {
        const companyId = await companyIdNamed(deps.db, params.id)
        return toEmailTemplateReply(await updateEmailTemplate(deps.db, companyId, params.templateId, body))
      },
    )

    app.delete(
      TEMPLATE,
      {
        schema: {
          operationId: 'removeEmailTemplate',
          summary: 'Delete an email template',
          description: 'Emails already accepted are still sent.',
          params: OneTemplate,
          response: { 200: Success },
        },
      },
      async ({ params }) =>
        succeed(removeEmailTemplate(deps.db, await companyIdNamed(deps.db, params.id), params.templateId)),
    )

    app.get(
      SETTINGS,
      {
        schema: {
          operationId: 'getEmailSettings',
          summary: 'Get email settings',
          description: "Returns the settings without the mail server's credential.",
          params: InCompany,
          response: { 200: EmailSettingsReply },
        },
      },
      async ({ params }) =>
        toEmailSettingsReply(await getEmailSettings(deps, await companyIdNamed(deps.db, params.id))),
    )

    app.put(
      SETTINGS,
      {
        config: { valueFaults: emailSettingsFaults },
        schema: {
          operationId: 'setEmailSettings',
          summary: 'Replace email settings',
          description:
            'Replaces all settings. An `smtpUrl` without user and password, as returned, keeps the stored ones and the stored options as long as host and port are unchanged. With the stored user but no password, it keeps the password.',
          params: InCompany,
          body: EmailSettingsBody,
          response: { 200: EmailSettingsReply },
        },
      },
      async ({ params, body }) => {
        const companyId = await companyIdNamed(deps.db, params.id)
        const { from, fromName = null, smtpUrl = null } = body
        return toEmailSettingsReply(await setEmailSettings(deps, companyId, { from, fromName, smtpUrl }))
      },
    )
  }
}
