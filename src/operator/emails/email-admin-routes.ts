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
import { companyNamed, type OperatorDeps } from '../operator.ts'
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
  templateId: Type.String({ description: 'The id of the template, `tmpl_…`.' }),
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
        const company = await companyNamed(deps.db, request.params.id)
        return answerOnce(deps.db, request, reply, 201, async (tx) =>
          toEmailTemplateReply(await createEmailTemplate(tx, company.id, request.body)),
        )
      },
    )

    app.get(
      TEMPLATES,
      {
        schema: {
          operationId: 'listCompanyEmailTemplates',
          summary: 'List the email templates of a company',
          description: 'Returns all email templates of the company.',
          params: InCompany,
          response: { 200: Type.Array(EmailTemplateReply, { description: 'All of them.' }) },
        },
      },
      async (request) => {
        const company = await companyNamed(deps.db, request.params.id)
        return (await listEmailTemplates(deps.db, company.id)).map(toEmailTemplateReply)
      },
    )

    app.get(
      TEMPLATE,
      {
        schema: {
          operationId: 'getEmailTemplate',
          summary: 'Read an email template',
          description: 'Returns one email template.',
          params: OneTemplate,
          response: { 200: EmailTemplateReply },
        },
      },
      async (request) => {
        const company = await companyNamed(deps.db, request.params.id)
        return toEmailTemplateReply(await getEmailTemplate(deps.db, company.id, request.params.templateId))
      },
    )

    app.patch(
      TEMPLATE,
      {
        config: { waitsForWorker: true, valueFaults: emailTemplateFaults },
        schema: {
          operationId: 'updateEmailTemplate',
          summary: 'Change an email template',
          description: 'Changes only the members that are sent. Emails that were accepted before do not change.',
          params: OneTemplate,
          body: EmailTemplateChangeBody,
          response: { 200: EmailTemplateReply },
        },
      },
      async (request) => {
        const company = await companyNamed(deps.db, request.params.id)
        const { templateId } = request.params
        return toEmailTemplateReply(await updateEmailTemplate(deps.db, company.id, templateId, request.body))
      },
    )

    app.delete(
      TEMPLATE,
      {
        schema: {
          operationId: 'removeEmailTemplate',
          summary: 'Remove an email template',
          description: 'Emails that were accepted before are still sent.',
          params: OneTemplate,
          response: { 200: Success },
        },
      },
      async (request) => {
        const company = await companyNamed(deps.db, request.params.id)
        await removeEmailTemplate(deps.db, company.id, request.params.templateId)
        return { success: true as const }
      },
    )

    app.get(
      SETTINGS,
      {
        schema: {
          operationId: 'getEmailSettings',
          summary: 'Read how a company sends email',
          description: 'Returns the settings without the credential of the mail server.',
          params: InCompany,
          response: { 200: EmailSettingsReply },
        },
      },
      async (request) => {
        const company = await companyNamed(deps.db, request.params.id)
        return toEmailSettingsReply(await getEmailSettings(deps, company.id))
      },
    )

    app.put(
      SETTINGS,
      {
        config: { valueFaults: emailSettingsFaults },
        schema: {
          operationId: 'setEmailSettings',
          summary: 'Set how a company sends email',
          description:
            'Replaces all settings. An `smtpUrl` without user and password, as it is returned, keeps the stored ones and the stored options while host and port are the same. One with the stored user and without a password keeps the password.',
          params: InCompany,
          body: EmailSettingsBody,
          response: { 200: EmailSettingsReply },
        },
      },
      async (request) => {
        const company = await companyNamed(deps.db, request.params.id)
        const { from, fromName = null, smtpUrl = null } = request.body
        return toEmailSettingsReply(await setEmailSettings(deps, company.id, { from, fromName, smtpUrl }))
      },
    )
  }
}
