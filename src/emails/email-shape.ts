import { Type } from 'typebox'
import { nullableText, nullableTime, Timestamp } from '../http/shapes.ts'
import type { Accepted } from './email.ts'
import type { EmailRecord } from './email-store.ts'
import { rateOf } from './email-template.ts'
import type { EmailTemplate, EmailTemplateCounts } from './email-template-store.ts'
import { MAX_EMAIL_HEADERS, MAX_HEADER_LENGTH } from './rendering/header-text.ts'

const Address = (description: string) => Type.String({ minLength: 1, maxLength: 254, description })

export const OneShotBody = Type.Object(
  {
    to: Address('The address of the one recipient, without a name.'),
    subject: Type.String({ maxLength: 500, description: 'The subject, in one line.' }),
    html: Type.String({ minLength: 1, description: 'The body in HTML.' }),
    text: Type.Optional(Type.String({ description: 'The body for programs that show no HTML.' })),
    from: Type.Optional(Address('The address of the sender, by default that of the company.')),
    fromName: Type.Optional(Type.String({ maxLength: 200, description: 'The name of the sender.' })),
    replyTo: Type.Optional(Address('The address for answers.')),
    headers: Type.Optional(
      Type.Record(Type.String(), Type.String({ maxLength: MAX_HEADER_LENGTH }), {
        maxProperties: MAX_EMAIL_HEADERS,
        description: 'Further headers, such as `X-…`, `List-…`, `In-Reply-To`, `References` and `Auto-Submitted`.',
      }),
    ),
    trackOpens: Type.Optional(Type.Boolean({ description: 'Whether opens are counted, by default true.' })),
    trackClicks: Type.Optional(Type.Boolean({ description: 'Whether clicks are counted, by default true.' })),
  },
  {
    additionalProperties: false,
    title: 'NewEmail',
    example: {
      to: 'ada.rossi@example.com',
      subject: 'Your order 1042',
      html: '<p>Hello Ada, your order is <a href="https://shop.example.com/orders/1042">on its way</a>.</p>',
      text: 'Hello Ada, your order is on its way.',
      replyTo: 'orders@shop.example.com',
    },
  },
)

const TextValue = [Type.String(), Type.Number(), Type.Boolean()]
const MAX_ITEMS = 200
const MAX_MEMBERS = 50

const Items = Type.Array(
  Type.Record(Type.String(), Type.Union([...TextValue, Type.Null()]), { maxProperties: MAX_MEMBERS }),
  {
    maxItems: MAX_ITEMS,
  },
)

export const TemplateEmailBody = Type.Object(
  {
    uid: Type.String({ minLength: 1, description: 'The id of the email template, `tmpl_…`.' }),
    recipient: Type.String({ maxLength: 254, description: 'The address of the one recipient, without a name.' }),
    customFields: Type.Optional(
      Type.Record(Type.String(), Type.Union([...TextValue, Items]), {
        description:
          'The values of the variables: texts, numbers, booleans, and lists of flat objects that the template loops over. A ' +
          'missing one is empty. A form has fields such as `customFields.<key>`.',
      }),
    ),
    strict: Type.Optional(
      Type.Boolean({ description: 'Refuses the mail if a variable of the template has no value, by default false.' }),
    ),
  },
  {
    title: 'NewTemplateEmail',
    example: {
      uid: 'tmpl_8d41f0c2a96b',
      recipient: 'ada.rossi@example.com',
      customFields: { first_name: 'Ada', lines: [{ name: 'Tea', quantity: 2 }] },
    },
  },
)

const Id = Type.String({ description: 'The id of the email, `eml_…`.' })
const StatsUrl = Type.String({ description: 'The address of its statistics.' })

const ACCEPTED = {
  id: 'eml_5b0c7e2d94fa4e6f',
  statsUrl: 'https://parley.example.com/public/v1/emails/eml_5b0c7e2d94fa4e6f/stats',
}

export const OneShotReply = Type.Object(
  {
    data: Type.Object(
      { id: Id, statsUrl: StatsUrl, status: Type.Literal('pending') },
      { title: 'AcceptedEmail', example: { ...ACCEPTED, status: 'pending' } },
    ),
  },
  { description: 'The email was accepted.' },
)

export const TemplateEmailReply = Type.Object(
  {
    success: Type.Literal(true),
    data: Type.Object(
      { success: Type.Literal(true), id: Id, statsUrl: StatsUrl },
      { title: 'AcceptedTemplateEmail', example: { success: true, ...ACCEPTED } },
    ),
  },
  { description: 'The email was accepted.' },
)

/** Builds the reply in both envelopes of the specification (Email). */
export const toTemplateEmailReply = ({ id, statsUrl }: Accepted) => ({
  success: true as const,
  data: { success: true as const, id, statsUrl },
})

export const EMAIL_STATS_EXAMPLE = {
  id: ACCEPTED.id,
  status: 'sent',
  to: 'ada.rossi@example.com',
  subject: 'Your order 1042',
  sentAt: '2026-03-02T09:30:00.000Z',
  opened: true,
  firstOpenAt: '2026-03-02T09:41:26.000Z',
  clickCount: 1,
  firstClickAt: '2026-03-02T09:41:40.000Z',
  failureReason: null,
  bouncedAt: null,
  complainedAt: null,
  suspectedMachine: { opens: 0, clicks: 0 },
}

export const EmailStats = Type.Object(
  {
    id: Id,
    status: Type.Enum(['pending', 'sent', 'failed', 'bounced']),
    to: Type.String(),
    subject: Type.String(),
    sentAt: Type.String({ format: 'date-time', description: 'The time at which the email was accepted.' }),
    opened: Type.Boolean({ description: 'Whether the open pixel was fetched.' }),
    firstOpenAt: nullableTime('The time of the first fetch of the pixel.'),
    clickCount: Type.Integer({ description: 'The number of fetches of tracked links.' }),
    firstClickAt: nullableTime('The time of the first fetch of a tracked link.'),
    failureReason: nullableText('Why the email failed or bounced, in the words of the mail server.'),
    bouncedAt: nullableTime('The time at which it was reported that the email did not arrive.'),
    complainedAt: nullableTime('The time at which the recipient called the email spam.'),
    suspectedMachine: Type.Object(
      { opens: Type.Integer(), clicks: Type.Integer() },
      { description: 'How many of the counted fetches look like those of proxies and scanners.' },
    ),
  },
  {
    title: 'EmailStats',
    example: EMAIL_STATS_EXAMPLE,
  },
)

/** `sentAt` is the acceptance time. */
export const toEmailStats = (email: EmailRecord) => ({
  id: email.uid,
  status: email.status,
  to: email.recipient,
  subject: email.subject,
  sentAt: email.createdAt.toISOString(),
  opened: email.openCount > 0,
  firstOpenAt: email.firstOpenAt?.toISOString() ?? null,
  clickCount: email.clickCount,
  firstClickAt: email.firstClickAt?.toISOString() ?? null,
  failureReason: email.failureReason,
  bouncedAt: email.bouncedAt?.toISOString() ?? null,
  complainedAt: email.complainedAt?.toISOString() ?? null,
  suspectedMachine: { opens: email.machineOpenCount, clicks: email.machineClickCount },
})

export const TemplateStats = Type.Object(
  {
    created: Timestamp,
    openRate: Type.String({ description: 'The share of sent emails that were opened.' }),
    clickRate: Type.String({ description: 'The share of sent emails with a click.' }),
    totalMessagesSent: Type.Integer({ description: 'The number of sent emails.' }),
    totalBounced: Type.Integer({ description: 'How many of them came back.' }),
    totalComplaints: Type.Integer({ description: 'How many of them their recipients called spam.' }),
  },
  {
    title: 'EmailTemplateStats',
    example: {
      created: '2026-01-12T08:00:00.000Z',
      openRate: '85%',
      clickRate: '12%',
      totalMessagesSent: 1380,
      totalBounced: 4,
      totalComplaints: 1,
    },
  },
)

export const toTemplateStats = ({ createdAt, sent, opened, clicked, bounced, complained }: EmailTemplateCounts) => ({
  created: createdAt.toISOString(),
  openRate: rateOf(opened, sent),
  clickRate: rateOf(clicked, sent),
  totalMessagesSent: sent,
  totalBounced: bounced,
  totalComplaints: complained,
})

export const EmailTemplateItem = Type.Object(
  {
    id: Type.String({ description: 'The id that a send takes as `uid`.' }),
    transactionalId: Type.Integer({ description: 'The id that the statistics take.' }),
    name: Type.String(),
    subject: Type.String(),
    status: Type.Literal('active'),
    category: Type.String(),
    createdAt: Timestamp,
    variables: Type.Array(Type.String(), { description: 'The names of the variables.' }),
  },
  {
    title: 'EmailTemplateItem',
    example: {
      id: 'tmpl_8d41f0c2a96b',
      transactionalId: 5,
      name: 'Welcome',
      subject: 'Welcome, {{ first_name }}',
      status: 'active',
      category: 'TRANSACTIONAL',
      createdAt: '2026-01-12T08:00:00.000Z',
      variables: ['first_name'],
    },
  },
)

/** `id` is the opaque `tmpl_…`, `transactionalId` the number for its statistics. */
export const toEmailTemplateItem = (template: EmailTemplate) => ({
  id: template.uid,
  transactionalId: template.id,
  name: template.name,
  subject: template.subject,
  status: 'active' as const,
  category: template.category,
  createdAt: template.createdAt.toISOString(),
  variables: [...template.variables],
})
