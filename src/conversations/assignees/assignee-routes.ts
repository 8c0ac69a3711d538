import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import type { Db } from '../../db/connect.ts'
import { nullableTime } from '../../http/shapes.ts'
import { listAssignees, MAX_ASSIGNEES } from './assignee-store.ts'

const Assignee = Type.Object(
  {
    name: Type.String({ description: "Name, as accepted by a conversation's `assignee`." }),
    signedInAt: nullableTime(
      'Start of the latest session with this name; null if only conversations were assigned to the name.',
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
          summary: 'List assignees',
          description: `Returns the names of everyone who has or had a console session, latest sign-in first, and of assigned conversations; at most ${MAX_ASSIGNEES}. A conversation's \`assignee\` accepts other names too.`,
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
