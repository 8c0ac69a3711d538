import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { emailSettingsFaults, getEmailSettings, setEmailSettings } from '../emails/email-settings.ts'
import {
  createEmailTemplate,
  emailTemplateFaults,
  getEmailTemplate,
  listEmailTemplates,
  removeEmailTemplate,
  updateEmailTemplate,
} from '../emails/email-template.ts'
import { operatorErrorResponses } from '../http/shapes.ts'
import {
  EmailSettingsBody,
  EmailSettingsReply,
  EmailTemplateChangeBody,
  EmailTemplateReply,
  NewEmailTemplateBody,
  toEmailSettingsReply,
  toEmailTemplateReply,
} from './email-shape.ts'
import { companyNamed, type OperatorDeps } from './operator.ts'
import { InCompany, Success } from './shape.ts'

const config = { surface: 'operator' } as const
const tags = ['Operator']
const MISSING = operatorErrorResponses({ 404: 'message' })
const WRITES = operatorErrorResponses({ 400: 'coded', 404: 'message', 413: 'coded', 422: 'coded' })

const TEMPLATES = '/admin/v1/companies/:id/email-templates'
const TEMPLATE = `${TEMPLATES}/:templateId`
const SETTINGS = '/admin/v1/companies/:id/email-settings'

const OneTemplate = Type.Object({
  id: InCompany.properties.id,
  templateId: Type.String({ description: 'Id of the template, `tmpl_…`' }),
})

/** A company's email templates and how it sends (decisions: The operator's side). */
export function emailAdminRoutes(deps: OperatorDeps): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.post(
      TEMPLATES,
      {
        config: { ...config, valueFaults: emailTemplateFaults },
        schema: {
          tags,
          operationId: 'createEmailTemplate',
          summary: 'Create an email template',
          params: InCompany,
          body: NewEmailTemplateBody,
          response: { ...WRITES, 201: EmailTemplateReply },
        },
      },
      async (request, reply) => {
        const company = await companyNamed(deps.db, request.params.id)
        reply.code(201)
        return toEmailTemplateReply(await createEmailTemplate(deps.db, company.id, request.body))
      },
    )

    app.get(
      TEMPLATES,
      {
        config,
        schema: {
          tags,
          operationId: 'listCompanyEmailTemplates',
          summary: 'List the email templates of a company',
          params: InCompany,
          response: { ...MISSING, 200: Type.Array(EmailTemplateReply) },
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
        config,
        schema: {
          tags,
          operationId: 'getEmailTemplate',
          summary: 'Read an email template',
          params: OneTemplate,
          response: { ...MISSING, 200: EmailTemplateReply },
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
        config: { ...config, valueFaults: emailTemplateFaults },
        schema: {
          tags,
          operationId: 'updateEmailTemplate',
          summary: 'Change an email template',
          description: 'Emails that were accepted before go out as they are.',
          params: OneTemplate,
          body: EmailTemplateChangeBody,
          response: { ...WRITES, 200: EmailTemplateReply },
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
        config,
        schema: {
          tags,
          operationId: 'removeEmailTemplate',
          summary: 'Remove an email template',
          params: OneTemplate,
          response: { ...MISSING, 200: Success },
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
        config,
        schema: {
          tags,
          operationId: 'getEmailSettings',
          summary: 'Read how a company sends email',
          params: InCompany,
          response: { ...MISSING, 200: EmailSettingsReply },
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
        config: { ...config, valueFaults: emailSettingsFaults },
        schema: {
          tags,
          operationId: 'setEmailSettings',
          summary: 'Set how a company sends email',
          description:
            'Replaces all of it: what is left out is taken away. An `smtpUrl` without user and password, as it is shown, keeps the stored ones and the stored options while host and port are the same; one with the stored user and without a password keeps the password.',
          params: InCompany,
          body: EmailSettingsBody,
          response: { ...WRITES, 200: EmailSettingsReply },
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
