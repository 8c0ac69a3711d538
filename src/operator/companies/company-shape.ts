import { Type } from 'typebox'
import type { Company } from '../../companies/company-store.ts'
import { plainText } from '../shape.ts'

const Name = plainText({ maxLength: 200, description: 'Name, without leading or trailing spaces.' })
const RateLimit = Type.Integer({
  minimum: 1,
  maximum: 1_000_000,
  description: "Requests per minute for all of the company's keys together, by default 100.",
})

const ReadReceipts = Type.Boolean({
  description:
    'Whether the console shows customers that an agent has read their messages and is typing, by default true. The provider shows both or neither. API calls of `read` and `typing` are always sent.',
})

const DefaultCountry = Type.Unsafe<string | null>({
  type: ['string', 'null'],
  maxLength: 2,
  description:
    "Country (ISO code) whose national numbers the company writes: a contact's phone without `+` or `00` is read as national if valid there. Null, the default: every phone must have a country code.",
})

const RegistrationLimit = Type.Integer({
  minimum: 1,
  maximum: 10_000,
  description:
    'Maximum number of webhook registrations, by default 50. A company over the limit keeps its registrations.',
})

const SessionRateLimit = Type.Integer({
  minimum: 1,
  maximum: 1_000_000,
  description: "Requests per minute for all of the company's console sessions together, by default 3,000.",
})

const AgentsMayErase = Type.Boolean({
  description: 'Whether console sessions with the role `agent` may erase contacts, by default false.',
})

export const NewCompanyBody = Type.Object(
  {
    name: Name,
    rateLimitPerMinute: Type.Optional(RateLimit),
    readReceipts: Type.Optional(ReadReceipts),
    defaultCountry: Type.Optional(DefaultCountry),
    registrationLimit: Type.Optional(RegistrationLimit),
    sessionRateLimitPerMinute: Type.Optional(SessionRateLimit),
    agentsMayErase: Type.Optional(AgentsMayErase),
  },
  { title: 'CompanyRequest', example: { name: 'Rossi Shoes' } },
)
export const CompanyChangeBody = Type.Partial(NewCompanyBody, {
  title: 'CompanyChange',
  example: { rateLimitPerMinute: 600 },
})

export const CompanyReply = Type.Object(
  {
    id: Type.Integer(),
    name: Type.String(),
    rateLimitPerMinute: RateLimit,
    readReceipts: ReadReceipts,
    defaultCountry: DefaultCountry,
    registrationLimit: RegistrationLimit,
    sessionRateLimitPerMinute: SessionRateLimit,
    agentsMayErase: AgentsMayErase,
    createdAt: Type.String({ format: 'date-time' }),
  },
  {
    title: 'Company',
    description: 'A company of this installation.',
    example: {
      id: 1,
      name: 'Rossi Shoes',
      rateLimitPerMinute: 100,
      readReceipts: true,
      defaultCountry: 'IT',
      registrationLimit: 50,
      sessionRateLimitPerMinute: 3_000,
      agentsMayErase: false,
      createdAt: '2026-02-20T10:15:00.000Z',
    },
  },
)

export const toCompanyReply = ({ createdAt, ...company }: Company) => ({
  ...company,
  createdAt: createdAt.toISOString(),
})
