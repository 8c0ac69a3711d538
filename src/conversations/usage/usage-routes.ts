import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from 'typebox'
import type { Db } from '../../db/connect.ts'
import { type FieldFault, invalidGroupBy, validationError } from '../../platform/errors.ts'
import { parseInstant } from '../../platform/text/instant.ts'
import { UsageRecord } from './usage-shape.ts'
import { type GroupedUsage, readUsage, type UsageGroup } from './usage-store.ts'

const MEMBERS = { day: 'day', number: 'channelId', category: 'category', template: 'template' } as const
const GROUPS = Object.keys(MEMBERS)
const isGroup = (text: string): text is UsageGroup => GROUPS.includes(text)

const MAX_DAYS = 366
const DAY_MS = 86_400_000

/** Registers the usage endpoint (spec: Cost). */
export function usageRoutes({ db }: { db: Db }): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.get(
      '/public/v1/whatsapp/usage',
      {
        config: { permissions: ['WhatsApp'], errors: ['invalid_group_by', 'validation_error'] },
        schema: {
          tags: ['WhatsApp'],
          operationId: 'getUsage',
          summary: 'Get message usage',
          description:
            "Counts the company's messages by day (UTC), as reported by the provider. Each message counts once, even if a status repeats or the message is deleted.",
          querystring: Type.Object({
            from: Type.String({ description: 'First day, such as `2026-11-01`.' }),
            to: Type.String({ description: `Last day; the range may have at most ${MAX_DAYS} days.` }),
            groupBy: Type.Optional(Type.String({ description: '`day`, `number`, `category` or `template`.' })),
          }),
          response: { 200: Type.Object({ data: Type.Array(UsageRecord) }, { description: 'The groups, in order.' }) },
        },
      },
      async ({ caller, query }) => {
        const { groupBy = 'day' } = query
        if (!isGroup(groupBy)) throw invalidGroupBy('day, number, category or template')
        const groups = await readUsage(db, caller.companyId, { ...parseDays(query), groupBy })
        return { data: groups.map((group) => toRecord(group, groupBy)) }
      },
    )
  }
}

const toRecord = ({ value, ...usage }: GroupedUsage, groupBy: UsageGroup): Static<typeof UsageRecord> => ({
  [MEMBERS[groupBy]]: value,
  ...usage,
})

function parseDays({ from, to }: { from: string; to: string }): { from: string; to: string } {
  const [first, last] = [timeOf(from), timeOf(to)]
  const faults: FieldFault[] = []
  if (first === undefined) faults.push({ path: 'from', message: NO_DATE })
  if (last === undefined) faults.push({ path: 'to', message: NO_DATE })
  if (first !== undefined && last !== undefined) {
    if (last < first) faults.push({ path: 'to', message: 'must not be before from' })
    if (last - first >= MAX_DAYS * DAY_MS) faults.push({ path: 'to', message: `must be within ${MAX_DAYS} days` })
  }
  if (faults.length > 0) throw validationError(faults)
  return { from, to }
}

const NO_DATE = 'must be a date such as 2026-11-01'

function timeOf(text: string): number | undefined {
  return /^[0-9]{4}-[0-9]{2}-[0-9]{2}$/.test(text) ? parseInstant(text)?.getTime() : undefined
}
