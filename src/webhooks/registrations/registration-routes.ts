import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import type { Pool } from '../../db/connect.ts'
import { completeKey } from '../../http/idempotency/idempotency.ts'
import { pathId, Success } from '../../http/shapes.ts'
import { validationError } from '../../platform/errors.ts'
import { parseId } from '../../platform/ids.ts'
import {
  createRegistration,
  getRegistration,
  listCompanyRegistrations,
  type RegistrationDeps,
  type RegistrationRules,
  registrationFaults,
  removeRegistration,
  updateRegistration,
} from './registration.ts'
import { readHealth } from './registration-health-store.ts'
import { createShape, RegistrationReply, toRegistrationReply, updateShape } from './registration-shape.ts'
import type { Registration } from './registration-store.ts'

export type RegistrationRoutesDeps = RegistrationDeps & {
  db: Pool
  rules: RegistrationRules
  /** Awaited before the answer. */
  onChanged(companyId: number): Promise<void>
}

const PATH = '/public/v1/webhooks/registrations'
const ById = Type.Object({ id: pathId('RegistrationId', 'Registration id.') })
const tags = ['Webhook registrations']

/** Serves webhook registrations (spec: Webhook registrations). */
export function registrationRoutes(deps: RegistrationRoutesDeps): FastifyPluginAsyncTypebox {
  const config = { permissions: ['WhatsApp'], roles: ['developer'] } as const
  const checked = { ...config, valueFaults: (body: object) => registrationFaults(body, deps.rules) }
  const Create = createShape(deps.rules)
  const Update = updateShape()

  return async (app) => {
    app.post(
      PATH,
      {
        config: checked,
        schema: {
          tags,
          operationId: 'createRegistration',
          summary: 'Create a registration',
          description:
            'The registration is active at once. Its secret is never returned. A company can have at most 50 registrations, unless the operator sets another limit.',
          body: Create,
          response: { 201: RegistrationReply },
        },
      },
      async (request, reply) => {
        checkRules(request.body, deps.rules)
        const { companyId } = request.caller
        reply.code(201)
        const created = await deps.db.begin(async (tx) => {
          const body = toRegistrationReply(await createRegistration({ ...deps, db: tx }, companyId, request.body))
          await completeKey(tx, request, reply, 201, body)
          return body
        })
        await deps.onChanged(companyId)
        return created
      },
    )

    app.get(
      PATH,
      {
        config,
        schema: {
          tags,
          operationId: 'listRegistrations',
          summary: 'List registrations',
          description: 'Returns all registrations with their health, ordered by id.',
          response: { 200: Type.Array(RegistrationReply, { description: 'All registrations.' }) },
        },
      },
      async (request) => {
        const { companyId } = request.caller
        const registrations = await listCompanyRegistrations(deps, companyId)
        const health = await readHealth(deps.db, companyId)
        return registrations.map((one) => toRegistrationReply(one, health.get(one.id)))
      },
    )

    app.get(
      `${PATH}/:id`,
      {
        config,
        schema: {
          tags,
          operationId: 'getRegistration',
          summary: 'Get a registration',
          description: 'Returns one registration.',
          params: ById,
          response: { 200: RegistrationReply },
        },
      },
      async (request) => {
        const { companyId } = request.caller
        return withHealth(deps, companyId, await getRegistration(deps, companyId, parseId(request.params.id)))
      },
    )

    app.put(
      `${PATH}/:id`,
      {
        config: checked,
        schema: {
          tags,
          operationId: 'updateRegistration',
          summary: 'Update a registration',
          description:
            'Omitted members stay unchanged; the record is accepted as read. Once `inactive`, no delivery attempt starts.',
          params: ById,
          body: Update,
          response: { 200: RegistrationReply },
        },
      },
      async (request) => {
        const { companyId } = request.caller
        const updated = await updateRegistration(deps, companyId, parseId(request.params.id), request.body)
        await deps.onChanged(companyId)
        return withHealth(deps, companyId, updated)
      },
    )

    app.delete(
      `${PATH}/:id`,
      {
        config,
        schema: {
          tags,
          operationId: 'removeRegistration',
          summary: 'Delete a registration',
          description: 'Deliveries stop at once.',
          params: ById,
          response: { 200: Success },
        },
      },
      async (request) => {
        const { companyId } = request.caller
        await removeRegistration(deps, companyId, parseId(request.params.id))
        await deps.onChanged(companyId)
        return { success: true as const }
      },
    )
  }
}

async function withHealth({ db }: RegistrationRoutesDeps, companyId: number, registration: Registration) {
  const health = await readHealth(db, companyId, registration.id)
  return toRegistrationReply(registration, health.get(registration.id))
}

function checkRules(body: unknown, rules: RegistrationRules): void {
  const faults = registrationFaults(body, rules)
  if (faults.length > 0) throw validationError(faults)
}
