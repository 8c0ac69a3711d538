import { Type } from 'typebox'
import type { Company } from '../companies/company.ts'
import { plainText } from './shape.ts'

const Name = plainText({ maxLength: 200, description: 'Name, kept without blanks at its ends' })
const RateLimit = Type.Integer({
  minimum: 1,
  maximum: 1_000_000,
  description: 'Requests per minute that all keys of the company may make together; 100 unless set',
})

export const NewCompanyBody = Type.Object({ name: Name, rateLimitPerMinute: Type.Optional(RateLimit) })
export const CompanyChangeBody = Type.Partial(NewCompanyBody)

export const CompanyReply = Type.Object(
  {
    id: Type.Integer(),
    name: Type.String(),
    rateLimitPerMinute: RateLimit,
    createdAt: Type.String({ format: 'date-time' }),
  },
  { description: 'A company of this installation' },
)

export const toCompanyReply = (company: Company) => ({
  id: company.id,
  name: company.name,
  rateLimitPerMinute: company.rateLimitPerMinute,
  createdAt: company.createdAt.toISOString(),
})
