import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import type { Db } from '../../db/connect.ts'
import { nullableTime } from '../../http/shapes.ts'
import { listAssignees, MAX_ASSIGNEES } from './assignee-store.ts'

const Assignee = Type.Object(
  {
    name: Type.String({ description: 'The name, as `assignee` of a conversation takes it.' }),
    signedInAt: nullableTime(
      'The last time that a session of this name began; null when conversations were only assigned to it.',
    ),
  },
  { title: 'Assignee', example: { name: 'Mara', signedInAt: '2026-03-02T08:55:00.000Z' } },
)

export function assigneeRoutes({ db }: { db: Db }): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.get(
      '/public/v1/whatsapp/assignees',
      {
        config: { permissions: ['WhatsApp'], roles: ['agent'] },
        schema: {
          tags: ['Conversations'],
          operationId: 'listAssignees',
          summary: 'List the people whom conversations can be assigned to',
          description: `The names of everyone who has or had a session of the console, those that signed in last first, and those that conversations were assigned to; at most ${MAX_ASSIGNEES}. \`assignee\` of a conversation takes other names, too.`,
          response: { 200: Type.Object({ data: Type.Array(Assignee) }, { description: 'The names.' }) },
        },
      },
      async ({ caller }) => {
        const assignees = await listAssignees(db, caller.companyId)
        return {
          data: assignees.map(({ name, signedInAt }) => ({ name, signedInAt: signedInAt?.toISOString() ?? null })),
        }
      },
    )
  }
}
