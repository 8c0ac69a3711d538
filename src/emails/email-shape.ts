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
    to: Address("The one recipient's address, without a name."),
    subject: Type.String({ maxLength: 500, description: 'Subject, one line.' }),
    html: Type.String({ minLength: 1, description: 'HTML body.' }),
    text: Type.Optional(Type.String({ description: 'Plain-text body.' })),
    from: Type.Optional(Address("Sender address, by default the company's.")),
    fromName: Type.Optional(Type.String({ maxLength: 200, description: 'Sender name.' })),
    replyTo: Type.Optional(Address('Reply address.')),
    headers: Type.Optional(
      Type.Record(Type.String(), Type.String({ maxLength: MAX_HEADER_LENGTH }), {
        maxProperties: MAX_EMAIL_HEADERS,
        description: 'Further headers, such as `X-…`, `List-…`, `In-Reply-To`, `References` and `Auto-Submitted`.',
      }),
    ),
    trackOpens: Type.Optional(Type.Boolean({ description: 'Whether to count opens, by default true.' })),
    trackClicks: Type.Optional(Type.Boolean({ description: 'Whether to count clicks, by default true.' })),
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
    uid: Type.String({ minLength: 1, description: 'Email template id, `tmpl_…`.' }),
    recipient: Type.String({ maxLength: 254, description: "The one recipient's address, without a name." }),
    customFields: Type.Optional(
      Type.Record(Type.String(), Type.Union([...TextValue, Items]), {
        description:
          'Variable values: strings, numbers, booleans, and lists of flat objects for loops. A missing one is empty. Forms have fields such as `customFields.<key>`.',
      }),
    ),
    strict: Type.Optional(
      Type.Boolean({ description: 'Refuses the mail if a template variable has no value, by default false.' }),
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

const Id = Type.String({ description: 'Email id, `eml_…`.' })
const StatsUrl = Type.String({ description: "URL of the email's statistics." })

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
    sentAt: Type.String({ format: 'date-time', description: 'When the email was accepted.' }),
    opened: Type.Boolean({ description: 'Whether the open pixel was fetched.' }),
    firstOpenAt: nullableTime('First fetch of the pixel.'),
    clickCount: Type.Integer({ description: 'Number of tracked link fetches.' }),
    firstClickAt: nullableTime('First fetch of a tracked link.'),
    failureReason: nullableText("Why the email failed or bounced, in the mail server's words."),
    bouncedAt: nullableTime('When the bounce was reported.'),
    complainedAt: nullableTime('When the recipient reported the email as spam.'),
    suspectedMachine: Type.Object(
      { opens: Type.Integer(), clicks: Type.Integer() },
      { description: 'How many of the counted fetches look automated (proxies, scanners).' },
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
    openRate: Type.String({ description: 'Share of sent emails that were opened.' }),
    clickRate: Type.String({ description: 'Share of sent emails with a click.' }),
    totalMessagesSent: Type.Integer({ description: 'Number of sent emails.' }),
    totalBounced: Type.Integer({ description: 'Number of bounced emails.' }),
    totalComplaints: Type.Integer({ description: 'Number of emails reported as spam.' }),
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
    id: Type.String({ description: 'Id to pass as `uid` of a send.' }),
    transactionalId: Type.Integer({ description: 'Id for the statistics.' }),
    name: Type.String(),
    subject: Type.String(),
    status: Type.Literal('active'),
    category: Type.String(),
    createdAt: Timestamp,
    variables: Type.Array(Type.String(), { description: 'Variable names.' }),
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
