import { Type } from 'typebox'
import { type EmailSettings, shownSmtpUrl } from '../../emails/email-settings.ts'
import { EMAIL_CATEGORIES, type EmailTemplate } from '../../emails/email-template-store.ts'
import { nullableText } from '../../http/shapes.ts'
import { orNull, plainText, secretText } from '../shape.ts'

const MAX_PART = 500_000

const EXAMPLE = {
  name: 'Welcome',
  subject: 'Welcome, {{ first_name }}',
  html: '<p>Hello {{ first_name }}, thank you for joining.</p>',
  text: null,
  category: 'TRANSACTIONAL',
}

export const NewEmailTemplateBody = Type.Object(
  {
    name: plainText({ maxLength: 200, description: 'Name, without leading or trailing spaces.' }),
    subject: plainText({ maxLength: 1_000, description: 'Subject as a Liquid template; line ends become spaces.' }),
    html: Type.String({
      minLength: 1,
      maxLength: MAX_PART,
      description: 'Body as a Liquid template; values are escaped.',
    }),
    text: Type.Optional(
      orNull(
        Type.String({
          maxLength: MAX_PART,
          description: 'Plain-text body as a Liquid template.',
        }),
      ),
    ),
    category: Type.Optional(
      Type.Enum([...EMAIL_CATEGORIES], {
        description:
          'Defaults to `TRANSACTIONAL`. `MARKETING` emails carry an unsubscribe link and are not sent to opted-out contacts.',
      }),
    ),
  },
  { title: 'EmailTemplateRequest', example: EXAMPLE },
)
export const EmailTemplateChangeBody = Type.Partial(NewEmailTemplateBody, {
  title: 'EmailTemplateChange',
  example: { subject: 'Welcome back, {{ first_name }}' },
})

export const EmailTemplateReply = Type.Object(
  {
    id: Type.String({ description: 'Id to pass as `uid` of a send.' }),
    transactionalId: Type.Integer({ description: 'Id for the statistics.' }),
    name: Type.String(),
    subject: Type.String(),
    html: Type.String(),
    text: orNull(Type.String()),
    category: Type.String(),
    variables: Type.Array(Type.String(), { description: 'Variable names in subject, HTML and text.' }),
    createdAt: Type.String({ format: 'date-time' }),
  },
  {
    title: 'EmailTemplate',
    description: 'An email template.',
    example: {
      id: 'tmpl_8d41f0c2a96b',
      transactionalId: 5,
      ...EXAMPLE,
      variables: ['first_name'],
      createdAt: '2026-01-12T08:00:00.000Z',
    },
  },
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

const SETTINGS = { from: 'orders@shop.example.com', fromName: 'Rossi Shoes' }

export const EmailSettingsBody = Type.Object(
  {
    from: Type.String({ minLength: 1, maxLength: 254, description: 'Sender address.' }),
    fromName: Type.Optional(orNull(plainText({ maxLength: 200, description: 'Sender name.' }))),
    smtpUrl: Type.Optional(
      orNull(
        secretText({
          maxLength: 2048,
          description:
            "The company's mail server, `smtp://` or `smtps://user:password@host:port`, or `postmark://token@host`; by default the service's. Stored encrypted and returned without its credential.",
        }),
      ),
    ),
  },
  {
    title: 'EmailSettingsRequest',
    example: { ...SETTINGS, smtpUrl: 'smtp://orders:secret@mail.example.com:587' },
  },
)

export const EmailSettingsReply = Type.Object(
  {
    from: nullableText('Sender address.'),
    fromName: nullableText('Sender name.'),
    smtpUrl: nullableText("The company's mail server, without its credential."),
  },
  {
    title: 'EmailSettings',
    description: "A company's email settings.",
    example: { ...SETTINGS, smtpUrl: 'smtp://mail.example.com:587' },
  },
)

/** Omits the mail server password; null means the installation default applies. */
export const toEmailSettingsReply = (settings: EmailSettings | undefined) => ({
  from: settings?.from ?? null,
  fromName: settings?.fromName ?? null,
  smtpUrl: shownSmtpUrl(settings?.smtpUrl ?? null),
})
