import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import type { Pool } from '../../db/connect.ts'
import { limitQuery, parsePage } from '../../http/paging/paging.ts'
import { pathId } from '../../http/shapes.ts'
import type { Clock } from '../../platform/clock.ts'
import { contactIdOf, getContact } from '../contact.ts'
import { readActivity } from './activity.ts'
import { readConsentHistory } from './consent-history-store.ts'
import { ActivityReply, ConsentHistoryReply, toActivityItem, toConsentEntry } from './timeline-shape.ts'

export type TimelineDeps = { db: Pool; clock: Clock }

const TAGS = ['Contacts']
const READS = { surface: 'api-key', permissions: ['WhatsApp', 'Transactional'], roles: ['agent'] } as const
const LIMITS = { defaultSize: 25, maxSize: 100 }
const ById = Type.Object({ id: pathId('ContactId', 'Contact id.') })

/** Registers the contact history endpoints. */
export function contactTimelineRoutes({ db, clock }: TimelineDeps): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.get(
      '/public/v1/contacts/:id/consent',
      {
        config: READS,
        schema: {
          tags: TAGS,
          operationId: 'listConsent',
          summary: "Get a contact's consent history",
          description:
            "Returns marketing statements made through the contact, or under its address, its number and its customers' current identities, newest first.",
          params: ById,
          response: { 200: ConsentHistoryReply },
        },
      },
      async (request) => {
        const { companyId } = request.caller
        const { id } = await getContact(db, companyId, contactIdOf(request.params.id))
        return { data: (await readConsentHistory(db, companyId, id)).map(toConsentEntry) }
      },
    )

    app.get(
      '/public/v1/contacts/:id/activity',
      {
        config: { ...READS, errors: ['validation_error'] },
        schema: {
          tags: TAGS,
          operationId: 'listActivity',
          summary: "List a contact's activity",
          description:
            "Returns the contact's conversations, by last activity, and emails to the current address, newest first. Conversations require the permission `WhatsApp`, emails `Transactional`; without it they are left out.",
          params: ById,
          querystring: Type.Object({
            limit: limitQuery(LIMITS).limit,
            before: Type.Optional(Type.String({ description: 'Cursor from the previous page.' })),
          }),
          response: { 200: ActivityReply },
        },
      },
      async (request) => {
        const { companyId, permissions } = request.caller
        const contact = await getContact(db, companyId, contactIdOf(request.params.id))
        const { items, nextBefore } = await readActivity(db, companyId, contact, {
          before: request.query.before,
          limit: parsePage(request.query, LIMITS).pageSize,
          hasConversations: permissions.includes('WhatsApp'),
          hasEmails: permissions.includes('Transactional'),
        })
        return { data: items.map((item) => toActivityItem(item, clock.now())), nextBefore }
      },
    )
  }
}
