import { Type } from 'typebox'
import { Timestamp } from '../http/shapes.ts'
import type { Accepted } from './email.ts'
import type { EmailRecord } from './email-store.ts'
import type { EmailTemplate } from './email-template.ts'
import { rateOf } from './email-template.ts'
import type { EmailTemplateCounts } from './email-template-store.ts'
import { MAX_HEADER_LENGTH, MAX_HEADERS } from './header-text.ts'

const Address = (description: string) => Type.String({ minLength: 1, maxLength: 254, description })
const orNull = (description?: string) =>
  Type.Unsafe<string | null>({ type: ['string', 'null'], format: 'date-time', ...(description && { description }) })

export const OneShotBody = Type.Object(
  {
    to: Address('The one recipient: an address, without a name'),
    subject: Type.String({ maxLength: 500, description: 'One line' }),
    html: Type.String({ minLength: 1 }),
    text: Type.Optional(Type.String({ description: 'For readers that show no HTML' })),
    from: Type.Optional(Address("The sender's address; absent, the company's own")),
    fromName: Type.Optional(Type.String({ maxLength: 200, description: "The sender's name" })),
    replyTo: Type.Optional(Address('Where answers go')),
    headers: Type.Optional(
      Type.Record(Type.String(), Type.String({ maxLength: MAX_HEADER_LENGTH }), {
        maxProperties: MAX_HEADERS,
        description: 'Further headers: `X-…`, `List-…`, `In-Reply-To`, `References`, `Auto-Submitted` and the like',
      }),
    ),
    trackOpens: Type.Optional(Type.Boolean({ description: 'Default true' })),
    trackClicks: Type.Optional(Type.Boolean({ description: 'Default true' })),
  },
  { additionalProperties: false },
)

export const TemplateEmailBody = Type.Object({
  uid: Type.String({ minLength: 1, description: 'Id of the email template, `tmpl_…`' }),
  recipient: Type.String({ maxLength: 254, description: 'The one recipient: an address, without a name' }),
  customFields: Type.Optional(
    Type.Record(Type.String(), Type.String(), { description: 'Values of the variables; one that is missing is empty' }),
  ),
})

const Id = Type.String({ description: 'Id of the email, `eml_…`' })
const StatsUrl = Type.String({ description: 'Where its statistics are' })

export const OneShotReply = Type.Object({
  data: Type.Object({ id: Id, statsUrl: StatsUrl, status: Type.Literal('pending') }),
})

export const TemplateEmailReply = Type.Object({
  success: Type.Literal(true),
  data: Type.Object({ success: Type.Literal(true), id: Id, statsUrl: StatsUrl }),
})

export const toTemplateEmailReply = ({ id, statsUrl }: Accepted) => ({
  success: true as const,
  data: { success: true as const, id, statsUrl },
})

export const EmailStats = Type.Object({
  id: Id,
  status: Type.Enum(['pending', 'sent', 'failed']),
  to: Type.String(),
  subject: Type.String(),
  sentAt: Timestamp,
  opened: Type.Boolean({ description: 'Whether the open pixel was fetched, by whomever' }),
  firstOpenAt: orNull(),
  clickCount: Type.Integer({ description: 'Fetches of tracked links' }),
  firstClickAt: orNull(),
  failureReason: Type.Unsafe<string | null>({ type: ['string', 'null'], description: "The mail server's words" }),
  suspectedMachine: Type.Object(
    { opens: Type.Integer(), clicks: Type.Integer() },
    { description: 'How many of the fetches look like those of proxies and scanners; they are counted all the same' },
  ),
})

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
  suspectedMachine: { opens: email.machineOpenCount, clicks: email.machineClickCount },
})

export const TemplateStats = Type.Object({
  created: Timestamp,
  openRate: Type.String({ description: 'Mails opened of mails sent, such as `85%`' }),
  clickRate: Type.String({ description: 'Mails clicked of mails sent, such as `12%`' }),
  totalMessagesSent: Type.Integer(),
})

export const toTemplateStats = ({ createdAt, sent, opened, clicked }: EmailTemplateCounts) => ({
  created: createdAt.toISOString(),
  openRate: rateOf(opened, sent),
  clickRate: rateOf(clicked, sent),
  totalMessagesSent: sent,
})

export const EmailTemplateItem = Type.Object({
  id: Type.String({ description: '`tmpl_…`: the `uid` to send with' }),
  transactionalId: Type.Integer({ description: 'For the statistics' }),
  name: Type.String(),
  subject: Type.String(),
  status: Type.Literal('active'),
  category: Type.String(),
  createdAt: Timestamp,
  variables: Type.Array(Type.String()),
})

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
