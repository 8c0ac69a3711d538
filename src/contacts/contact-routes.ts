import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import type { Publish } from '../changes/live-change.ts'
import type { RecordEvents } from '../changes/record-change.ts'
import type { Pool } from '../db/connect.ts'
import type { Caller } from '../http/admission/caller.ts'
import type { Session } from '../http/admission/console-session.ts'
import type { RequestLimiter } from '../http/admission/rate-limit.ts'
import { acceptForms } from '../http/body/form-body.ts'
import { compileExceptBody } from '../http/body/input.ts'
import { completeKey } from '../http/idempotency/idempotency.ts'
import { pathId, Success } from '../http/shapes.ts'
import type { ChangedBy, Contact } from '../people/contact-record.ts'
import { mapInStretches } from '../platform/clock.ts'
import { forbidden, rateLimitExceeded } from '../platform/errors.ts'
import type { Cipher } from '../secrets/secrets.ts'
import { contactIdOf, getContact, getContactByEmail, removeContact, updateContact } from './contact.ts'
import {
  CONTACT_EXAMPLE,
  ContactReplyShape,
  ContactWriteShape,
  OwnFieldsShape,
  toContactReply,
  toOwnFields,
} from './contact-shape.ts'
import { findHiddenContacts, listContacts } from './search/contact-list.ts'
import { ListQuery, ListReply, readListRequest, toListReply } from './search/contact-list-shape.ts'
import { formToWriteBody } from './write/contact-columns.ts'
import { UPSERT_MAX_CONTACTS, upsertContacts } from './write/contact-upsert.ts'
import { BROWSER_MAX_CONTACTS, parseContactWrite, readPhoneRules, readUpserts } from './write/contact-write.ts'

const CONTACT_BODY_LIMIT_BYTES = 8 * 1024 * 1024

export type ContactRoutesDeps = {
  db: Pool
  cipher: Pick<Cipher, 'decrypt'>
  erase(companyId: number, contactId: number): Promise<void>
  publish: Publish
  recordEvents: RecordEvents
  limiter: Pick<RequestLimiter, 'countShownContacts'>
}

const TAGS = ['Contacts']
const READS = { surface: 'api-key', permissions: ['WhatsApp', 'Transactional'], roles: ['agent'] } as const
// 1,000 contacts can take longer than a usual request.
const UPSERTS = {
  errors: ['invalid_phone_number', 'duplicate_resource'],
  takesLong: true,
  surface: 'api-key',
  permissions: ['WhatsApp', 'Transactional', 'ContactsUpsert'],
  roles: ['agent'],
} as const

const OneContact = Type.Object({ data: ContactReplyShape }, { title: 'OneContact', description: 'The contact.' })
const ById = Type.Object({ id: pathId('ContactId', 'Contact id.') })
const ByEmail = Type.Object({ email: Type.String({ description: 'Email address, URL-encoded.' }) })

const UpsertBody = Type.Union(
  [ContactWriteShape, Type.Array(ContactWriteShape, { minItems: 1, maxItems: UPSERT_MAX_CONTACTS })],
  {
    title: 'ContactWrites',
    description: `One contact, or up to 1,000 (${BROWSER_MAX_CONTACTS} with a key with only \`ContactsUpsert\`), written all or none. Forms have fields such as \`customFields.<key>\` and \`marketingConsent.email\` (\`true\`, \`false\`, \`1\`, \`0\`), and \`tags\` once per tag.`,
  },
)

const UPSERT_DESCRIPTION =
  'The contacts in request order. A key with only `ContactsUpsert` gets only the fields of its request, and no id.'

/** Two shapes, so that clients with a server key can rely on an id. */
const UpsertReply = Type.Union(
  [
    Type.Object(
      { data: Type.Array(ContactReplyShape) },
      { title: 'UpsertedContacts', example: { data: [CONTACT_EXAMPLE] } },
    ),
    Type.Object(
      { data: Type.Array(OwnFieldsShape) },
      {
        title: 'WrittenFields',
        description: `Answer to a key with only \`ContactsUpsert\`. Its arrays may have at most ${BROWSER_MAX_CONTACTS} contacts; longer ones are answered 422 \`validation_error\`, and nothing is written.`,
        'x-permissions': ['ContactsUpsert'],
        example: {
          data: [
            { email: 'ada.rossi@example.com', first_name: 'Ada' },
            { phone: '+393337654321', marketing_consent: { whatsapp: true } },
          ],
        },
      },
    ),
  ],
  { description: UPSERT_DESCRIPTION },
)

/** Registers the contact endpoints (spec: Contacts; decisions: Contacts and custom fields). */
export function contactRoutes(deps: ContactRoutesDeps): FastifyPluginAsyncTypebox {
  return async (app) => {
    await acceptForms(app, formToWriteBody)

    app.post(
      '/public/v1/contacts',
      {
        config: UPSERTS,
        bodyLimit: CONTACT_BODY_LIMIT_BYTES,
        // Validated in the handler: a union would report faults from the wrong branch.
        validatorCompiler: compileExceptBody,
        schema: {
          tags: TAGS,
          operationId: 'upsertContacts',
          summary: 'Create or update contacts',
          description:
            "Updates the contact with the same email, else the oldest one with the same phone; otherwise creates a contact. Without an identity proof, a key with only `ContactsUpsert` can't change an existing contact's email or phone or end opt-outs: these members are ignored.",
          consumes: ['application/json', 'multipart/form-data', 'application/x-www-form-urlencoded'],
          body: Type.Optional(UpsertBody),
          response: { 200: UpsertReply },
        },
      },
      async (request, reply) => {
        const { caller } = request
        const isOwnOnly = caller.browser !== undefined
        const { writes, browser } = await readUpserts(deps, caller, request.body)
        const toAnswer = async (contacts: readonly Contact[]) =>
          isOwnOnly
            ? { data: writes.map(toOwnFields) }
            : { data: await mapInStretches(contacts, (contact) => toContactReply(caller.companyId, contact)) }
        const contacts = await upsertContacts(deps.db, caller.companyId, writes, changedBy(caller), {
          whenFull: isOwnOnly ? 'keep' : 'refuse',
          isArray: Array.isArray(request.body),
          events: deps.recordEvents,
          browser,
          alsoCommit:
            request.idempotency &&
            (async (tx, upserted) => completeKey(tx, request, reply, 200, await toAnswer(upserted))),
        })
        deps.publish(contacts.map(({ id }) => ({ topic: 'contact', companyId: caller.companyId, id })))
        return toAnswer(contacts)
      },
    )

    app.get(
      '/public/v1/contacts',
      {
        config: { ...READS, errors: ['validation_error'] },
        schema: {
          tags: TAGS,
          operationId: 'listContacts',
          summary: 'List and search contacts',
          description: 'Returns a page of contacts, without deleted ones.',
          querystring: ListQuery,
          response: { 200: ListReply },
        },
      },
      async (request) => {
        const { companyId } = request.caller
        const listed = readListRequest(request.query)
        const page = await listContacts(deps.db, companyId, listed)
        await countForAgent(deps, request.session, page.contacts.length)
        return toListReply(companyId, listed, page, await findHiddenContacts(deps.db, companyId, listed, page))
      },
    )

    app.get(
      '/public/v1/contacts/:id',
      {
        config: READS,
        schema: {
          tags: TAGS,
          operationId: 'getContact',
          summary: 'Get a contact',
          description: 'Returns one contact.',
          params: ById,
          response: { 200: OneContact },
        },
      },
      async (request) => {
        const { companyId } = request.caller
        const contact = await getContact(deps.db, companyId, contactIdOf(request.params.id))
        return { data: toContactReply(companyId, contact) }
      },
    )

    app.get(
      '/public/v1/contacts/by-email/:email',
      {
        config: READS,
        schema: {
          tags: TAGS,
          operationId: 'getContactByEmail',
          summary: 'Get a contact by email',
          description: 'Returns the contact with this email, ignoring case.',
          params: ByEmail,
          response: { 200: OneContact },
        },
      },
      async (request) => {
        const { companyId } = request.caller
        const contact = await getContactByEmail(deps.db, companyId, request.params.email)
        return { data: toContactReply(companyId, contact) }
      },
    )

    app.put(
      '/public/v1/contacts/:id',
      {
        config: { ...READS, errors: ['invalid_phone_number', 'duplicate_resource'] },
        bodyLimit: CONTACT_BODY_LIMIT_BYTES,
        validatorCompiler: compileExceptBody,
        schema: {
          tags: TAGS,
          operationId: 'updateContact',
          summary: 'Update a contact',
          description: 'Omitted members stay unchanged.',
          params: ById,
          body: Type.Optional(ContactWriteShape),
          response: { 200: OneContact },
        },
      },
      async (request) => {
        const { caller } = request
        const write = parseContactWrite(request.body, 'update', await readPhoneRules(deps.db, caller, [request.body]))
        const id = contactIdOf(request.params.id)
        const contact = await updateContact(deps.db, caller.companyId, id, write, changedBy(caller), deps.recordEvents)
        deps.publish([{ topic: 'contact', companyId: caller.companyId, id }])
        return { data: toContactReply(caller.companyId, contact) }
      },
    )

    app.delete(
      '/public/v1/contacts/:id',
      {
        // An erasure can take up to 3 seconds before the reply.
        config: { ...READS, takesLong: true },
        schema: {
          tags: TAGS,
          operationId: 'deleteContact',
          summary: 'Delete or erase a contact',
          description:
            "Without `erase`, hides the contact; its conversations stay. With `erase`, removes the person: the contact, message texts and media, mails, delivery log payloads and import rows. Counters and opt-outs (as a keyed hash) stay. Erasing also works on deleted contacts and can't be undone. Returns once recorded durably; work beyond 3 seconds continues in the background.",
          params: ById,
          querystring: Type.Object({
            erase: Type.Optional(Type.Boolean({ description: 'Whether to erase everything about the person.' })),
          }),
          response: { 200: Success },
        },
      },
      async (request) => {
        const { companyId } = request.caller
        const id = contactIdOf(request.params.id)
        if (request.query.erase) {
          refuseToErase(request.session)
          await deps.erase(companyId, id)
        } else {
          await removeContact(deps.db, companyId, id, deps.recordEvents)
          deps.publish([{ topic: 'contact', companyId, id }])
        }
        return { success: true as const }
      },
    )
  }
}

/** Throws 429 with `Retry-After` if an agent's session lists too many contacts within a minute. */
async function countForAgent(
  { limiter }: Pick<ContactRoutesDeps, 'limiter'>,
  session: Session | null,
  contacts: number,
): Promise<void> {
  if (session?.role !== 'agent' || contacts === 0) return
  const { isOver, retryAfterSeconds } = await limiter.countShownContacts(session.id, contacts)
  if (isOver) throw rateLimitExceeded(retryAfterSeconds, 'Too many contacts were listed within a minute')
}

function refuseToErase(session: Session | null): void {
  if (session?.role === 'agent' && !session.state.agentsMayErase)
    throw forbidden('Agents of this company may not erase contacts')
}

const changedBy = (caller: Caller): ChangedBy => ({ clientId: caller.clientId, source: 'api' })
