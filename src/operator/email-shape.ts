import { Type } from 'typebox'
import { type EmailSettings, shownSmtpUrl } from '../emails/email-settings.ts'
import { EMAIL_CATEGORIES, type EmailTemplate } from '../emails/email-template.ts'
import { orNull, plainText, secretText } from './shape.ts'

const MAX_PART = 500_000

export const NewEmailTemplateBody = Type.Object({
  name: plainText({ maxLength: 200, description: 'Name, kept without blanks at its ends' }),
  subject: plainText({ maxLength: 1_000, description: 'Liquid; becomes one line' }),
  html: Type.String({ minLength: 1, maxLength: MAX_PART, description: 'Liquid; values are escaped' }),
  text: Type.Optional(
    orNull(Type.String({ maxLength: MAX_PART, description: 'Liquid; for readers that show no HTML' })),
  ),
  category: Type.Optional(
    Type.Enum([...EMAIL_CATEGORIES], {
      description: '`MARKETING` respects opt-outs and carries an unsubscribe link. Default: `TRANSACTIONAL`',
    }),
  ),
})
export const EmailTemplateChangeBody = Type.Partial(NewEmailTemplateBody)

export const EmailTemplateReply = Type.Object(
  {
    id: Type.String({ description: '`tmpl_…`: the `uid` to send with' }),
    transactionalId: Type.Integer({ description: 'For the statistics' }),
    name: Type.String(),
    subject: Type.String(),
    html: Type.String(),
    text: orNull(Type.String()),
    category: Type.String(),
    variables: Type.Array(Type.String(), { description: 'What the parts ask for' }),
    createdAt: Type.String({ format: 'date-time' }),
  },
  { description: 'A template of email' },
)

export const toEmailTemplateReply = (template: EmailTemplate) => ({
  id: template.uid,
  transactionalId: template.id,
  name: template.name,
  subject: template.subject,
  html: template.html,
  text: template.text,
  category: template.category,
  variables: [...template.variables],
  createdAt: template.createdAt.toISOString(),
})

export const EmailSettingsBody = Type.Object({
  from: Type.String({ minLength: 1, maxLength: 254, description: "The sender's address" }),
  fromName: Type.Optional(orNull(plainText({ maxLength: 200, description: "The sender's name" }))),
  smtpUrl: Type.Optional(
    orNull(
      secretText({
        maxLength: 2048,
        description:
          "The company's own mail server, `smtp://` or `smtps://user:password@host:port`; the service's unless set. Kept encrypted, shown without its credential",
      }),
    ),
  ),
})

export const EmailSettingsReply = Type.Object({
  from: orNull(Type.String()),
  fromName: orNull(Type.String()),
  smtpUrl: orNull(Type.String({ description: 'Without its credential' })),
})

export const toEmailSettingsReply = (settings: EmailSettings | undefined) => ({
  from: settings?.from ?? null,
  fromName: settings?.fromName ?? null,
  smtpUrl: shownSmtpUrl(settings?.smtpUrl ?? null),
})
