import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import type { Publish } from '../changes/live-change.ts'
import type { RecordEvents } from '../changes/record-change.ts'
import { formToWriteBody } from '../contacts/write/contact-columns.ts'
import { upsertContacts } from '../contacts/write/contact-upsert.ts'
import { readUpserts } from '../contacts/write/contact-write.ts'
import type { Pool } from '../db/connect.ts'
import { type EmailDeps, sendTemplateEmail, templateEmailFaults } from '../emails/email.ts'
import { refuseEmail } from '../emails/email-faults.ts'
import { TEMPLATE_EMAIL_ERRORS } from '../emails/email-routes.ts'
import { listEmailTemplates } from '../emails/email-template.ts'
import { acceptForms } from '../http/body/form-body.ts'
import { compileExceptBody } from '../http/body/input.ts'
import { completeKey } from '../http/idempotency/idempotency.ts'
import type { Contact } from '../people/contact-record.ts'
import { badRequest, emailFailed, noWhatsappAccount, sendFailed } from '../platform/errors.ts'
import type { Config } from '../platform/settings/config.ts'
import type { Cipher } from '../secrets/secrets.ts'
import type { SendDeps } from '../sends/send.ts'
import { refuseSend, sendBodyFaults } from '../sends/send-request.ts'
import { handleSend, isImmediate, recoverSend, SEND_ERRORS, SendReplyShape } from '../sends/send-routes.ts'
import { TemplateRecord, toTemplateRecord } from '../templates/template-record.ts'
import { hasSender, listTemplates } from '../templates/template-store.ts'
import { replacementOf, successorHeaders, Warning, withWarning } from './legacy-rule.ts'
import { LegacyContacts, LegacySend, LegacyTemplateEmail, withoutUnknown } from './legacy-shapes.ts'

const FIELD = 'customFields.'

type LegacyDeps = {
  db: Pool
  cipher: Pick<Cipher, 'decrypt'>
  config: Pick<Config, 'baseUrl'>
  send: SendDeps
  emails: EmailDeps
  publish: Publish
  recordEvents: RecordEvents
  removalDate: Date
}

const tags = ['Legacy']
const deprecated = true
const ignoresUnknown = true
const CONTACT_BODY_LIMIT_BYTES = 8 * 1024 * 1024
const LegacyTemplate = Type.Object(
  { uid: Type.String({ description: 'Id to pass to a send.' }), name: Type.String() },
  { title: 'LegacyEmailTemplate', example: { uid: 'tmpl_8d41f0c2a96b', name: 'Welcome' } },
)
const ContactId = Type.Object(
  {
    contactId: Type.Optional(
      Type.String({ description: 'The id; absent for a key with only `ContactsUpsert`, which gets `{}`.' }),
    ),
  },
  { title: 'LegacyContactId', additionalProperties: false, example: { contactId: '4127' } },
)
const UpsertReply = Type.Array(ContactId, { description: 'Contact ids in request order.' })
const FORMS = ['application/json', 'multipart/form-data', 'application/x-www-form-urlencoded']

/** Registers the legacy routes (spec: Legacy). After the removal date, `createLegacyRule` must answer instead. */
export function legacyRoutes(deps: LegacyDeps): FastifyPluginAsyncTypebox {
  return async (app) => {
    const { removalDate } = deps
    const docsUrl = `${deps.config.baseUrl}/docs`
    // Adds headers, and a `warning` on success. Must be an onSend hook, to cover replayed responses.
    app.addHook('onSend', async (request, reply, payload) => {
      const migrateTo = replacementOf(request.method, request.routeOptions.url ?? '')
      reply.headers(successorHeaders(removalDate, migrateTo))
      return reply.statusCode < 300 ? withWarning(payload, { removalDate, migrateTo, docsUrl }) : payload
    })
    await app.register(transactionalRoutes(deps))
    await app.register(whatsappRoutes(deps))
    await app.register(contactRoutes(deps))
  }
}

function transactionalRoutes(deps: LegacyDeps): FastifyPluginAsyncTypebox {
  return async (app) => {
    await acceptForms(app, formToTemplateEmail)

    app.post(
      '/api/transactionals',
      {
        config: {
          ignoresUnknown,
          permissions: ['Transactional'],
          waitsForWorker: true,
          errors: [...TEMPLATE_EMAIL_ERRORS, 'gone'],
          valueFaults: templateEmailFaults,
          onInvalid: refuseEmail('recipient'),
          onFailure: emailFailed,
        },
        schema: {
          tags,
          deprecated,
          operationId: 'legacySendTemplateEmail',
          summary: 'Send a template email',
          description: 'Same as `POST /public/v1/templates/email/send`.',
          consumes: FORMS,
          body: LegacyTemplateEmail,
          response: {
            200: Type.Object(
              { status: Type.Literal(200), warning: Type.Optional(Warning) },
              { description: 'The email was accepted.' },
            ),
          },
        },
      },
      async (request) => {
        const { idempotency } = request
        const caller = { companyId: request.caller.companyId, idempotencyId: idempotency?.id ?? null }
        const body = { status: 200 as const }
        await sendTemplateEmail(deps.emails, caller, request.body, () => ({ status: 200, body }))
        if (idempotency) idempotency.isCompleted = true
        return body
      },
    )

    app.get(
      '/api/transactionals',
      {
        config: { ignoresUnknown, permissions: ['Transactional'], errors: ['gone'] },
        schema: {
          tags,
          deprecated,
          operationId: 'legacyListEmailTemplates',
          summary: 'List email templates',
          description: 'Same as `GET /public/v1/templates/email`, in the former shape.',
          response: {
            200: Type.Object(
              { templates: Type.Array(LegacyTemplate), warning: Type.Optional(Warning) },
              { description: 'All email templates.' },
            ),
          },
        },
      },
      async (request) => {
        const templates = await listEmailTemplates(deps.db, request.caller.companyId)
        return { templates: templates.map(({ uid, name }) => ({ uid, name })) }
      },
    )
  }
}

function whatsappRoutes(deps: LegacyDeps): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.post(
      '/api/transactionals/whatsapp/send',
      {
        config: {
          ignoresUnknown,
          waitsForOthers: true,
          permissions: ['WhatsApp', 'Transactional'],
          errors: [...SEND_ERRORS, 'gone'],
          valueFaults: sendBodyFaults,
          onInvalid: refuseSend,
          onFailure: sendFailed,
          reservesKey: isImmediate,
          recoverAnswer: (companyId, messageId) => recoverSend(deps.db, companyId, messageId),
        },
        schema: {
          tags,
          deprecated,
          operationId: 'legacySendWhatsAppMessage',
          summary: 'Send a WhatsApp message',
          description: 'Same as `POST /public/v1/templates/whatsapp/send`.',
          body: LegacySend,
          response: {
            200: Type.Object(
              { ...SendReplyShape.properties, warning: Type.Optional(Warning) },
              { description: 'The provider accepted the message.' },
            ),
          },
        },
      },
      (request) => {
        if (request.body.sendAt !== undefined) throw badRequest('sendAt needs POST /public/v1/templates/whatsapp/send')
        return handleSend({ ...deps.send, db: deps.db }, request, request.body)
      },
    )

    app.get(
      '/api/transactionals/whatsapp/templates',
      {
        config: { ignoresUnknown, errors: ['no_whatsapp_account', 'gone'] },
        schema: {
          tags,
          deprecated,
          operationId: 'legacyListWhatsAppTemplates',
          summary: 'List WhatsApp templates',
          description: 'Same as `GET /public/v1/templates/whatsapp`.',
          response: {
            200: Type.Object(
              { data: Type.Array(TemplateRecord), warning: Type.Optional(Warning) },
              { description: 'All templates.' },
            ),
          },
        },
      },
      async (request) => {
        const { companyId } = request.caller
        const templates = await listTemplates(deps.db, companyId)
        if (templates.length === 0 && !(await hasSender(deps.db, companyId))) throw noWhatsappAccount()
        return { data: templates.map(toTemplateRecord) }
      },
    )
  }
}

function contactRoutes(deps: LegacyDeps): FastifyPluginAsyncTypebox {
  return async (app) => {
    await acceptForms(app, formToWriteBody)

    app.post(
      '/api/contacts',
      {
        config: {
          ignoresUnknown,
          permissions: ['WhatsApp', 'Transactional', 'ContactsUpsert'],
          errors: ['invalid_phone_number', 'duplicate_resource', 'gone'],
        },
        bodyLimit: CONTACT_BODY_LIMIT_BYTES,
        // The handler validates: a union schema would report faults of the other branch, too.
        validatorCompiler: compileExceptBody,
        schema: {
          tags,
          deprecated,
          operationId: 'legacyUpsertContact',
          summary: 'Upsert contacts by email',
          description:
            'Updates the contact with the same email, or creates one. A key with only `ContactsUpsert` gets no id.',
          consumes: FORMS,
          body: LegacyContacts,
          response: {
            200: UpsertReply,
          },
        },
      },
      async (request, reply) => {
        const { companyId, clientId, browser } = request.caller
        const isArray = Array.isArray(request.body)
        const { writes, browser: rights } = await readUpserts(deps, request.caller, withoutUnknown(request.body))
        const nameless = writes.flatMap(({ email }, place) => (email ? [] : [isArray ? `[${place}].email` : 'email']))
        if (nameless.length > 0) {
          throw badRequest(
            'A contact needs an email here',
            nameless.map((path) => ({ path, message: 'is required' })),
          )
        }
        const isClientSide = browser !== undefined
        const by = { clientId, source: 'api' }
        const whenFull = isClientSide ? 'keep' : 'refuse'
        const toAnswer = (contacts: readonly Contact[]) =>
          contacts.map(({ id }) => (isClientSide ? {} : { contactId: String(id) }))
        const contacts = await upsertContacts(deps.db, companyId, writes, by, {
          whenFull,
          isArray,
          matchBy: 'email',
          events: deps.recordEvents,
          browser: rights,
          alsoCommit:
            request.idempotency && ((tx, upserted) => completeKey(tx, request, reply, 200, toAnswer(upserted))),
        })
        deps.publish(contacts.map(({ id }) => ({ topic: 'contact', companyId, id })))
        return toAnswer(contacts)
      },
    )
  }
}

function formToTemplateEmail(entries: Iterable<readonly [string, string]>): Record<string, unknown> {
  const members = new Map<string, string>()
  const fields = new Map<string, string>()
  for (const [name, value] of entries) {
    if (name.startsWith(FIELD)) fields.set(name.slice(FIELD.length), value)
    else members.set(name, value)
  }
  return { ...Object.fromEntries(members), customFields: Object.fromEntries(fields) }
}
