import type { FastifyRequest } from 'fastify'
import { memberOf } from '../../platform/text/own-member.ts'

export function contentTypesOf({ routeOptions: { schema } }: FastifyRequest): string {
  const consumes = memberOf(schema, 'consumes')
  if (Array.isArray(consumes)) return consumes.map(String).join(', ')
  const content = memberOf(memberOf(schema, 'body'), 'content')
  return typeof content === 'object' && content !== null ? Object.keys(content).join(', ') : 'application/json'
}
