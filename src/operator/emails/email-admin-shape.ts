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
    name: plainText({ maxLength: 200, description: 'The name, without blanks at its ends.' }),
    subject: plainText({ maxLength: 1_000, description: 'The subject as a Liquid template, which becomes one line.' }),
    html: Type.String({
      minLength: 1,
      maxLength: MAX_PART,
      description: 'The body as a Liquid template; values are escaped.',
    }),
    text: Type.Optional(
      orNull(
        Type.String({
          maxLength: MAX_PART,
          description: 'The body for programs that show no HTML, as a Liquid template.',
        }),
      ),
    ),
    category: Type.Optional(
      Type.Enum([...EMAIL_CATEGORIES], {
        description:
          'By default `TRANSACTIONAL`. `MARKETING` emails carry an unsubscribe link and are not sent to contacts that opted out.',
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
    id: Type.String({ description: 'The id that a send takes as `uid`.' }),
    transactionalId: Type.Integer({ description: 'The id that the statistics take.' }),
    name: Type.String(),
    subject: Type.String(),
    html: Type.String(),
    text: orNull(Type.String()),
    category: Type.String(),
    variables: Type.Array(Type.String(), { description: 'The names of the variables in subject, HTML and text.' }),
    createdAt: Type.String({ format: 'date-time' }),
  },
  {
    title: 'EmailTemplate',
    description: 'A template for emails.',
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
    from: Type.String({ minLength: 1, maxLength: 254, description: 'The address of the sender.' }),
    fromName: Type.Optional(orNull(plainText({ maxLength: 200, description: 'The name of the sender.' }))),
    smtpUrl: Type.Optional(
      orNull(
        secretText({
          maxLength: 2048,
          description:
            'The mail server of the company, `smtp://` or `smtps://user:password@host:port`, or `postmark://token@host`, by default that of the service. It is stored encrypted and returned without its credential.',
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
    from: nullableText('The address of the sender.'),
    fromName: nullableText('The name of the sender.'),
    smtpUrl: nullableText('The mail server of the company, without its credential.'),
  },
  {
    title: 'EmailSettings',
    description: 'How the company sends email.',
    example: { ...SETTINGS, smtpUrl: 'smtp://mail.example.com:587' },
  },
)

/** Omits the mail server password; null means the installation default applies. */
export const toEmailSettingsReply = (settings: EmailSettings | undefined) => ({
  from: settings?.from ?? null,
  fromName: settings?.fromName ?? null,
  smtpUrl: shownSmtpUrl(settings?.smtpUrl ?? null),
})
