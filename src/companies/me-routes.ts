import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import type { Db } from '../db/connect.ts'
import { type Caller, PERMISSIONS } from '../http/admission/caller.ts'
import { ROLES } from '../http/admission/role.ts'
import { nullableText } from '../http/shapes.ts'
import { listApiKeys } from './api-key.ts'
import { getCompany, updateCompany } from './company.ts'
import type { Company } from './company-store.ts'

const DefaultCountry = nullableText(
  'The ISO code of the country whose national numbers the company writes: a phone of a contact without `+` or `00` is read as one if it is valid there. Null: every phone has its country code.',
)

const AgentsMayErase = Type.Boolean({
  description: 'Whether console sessions with the role `agent` may erase contacts.',
})

const SettingsBody = Type.Object(
  {
    settings: Type.Object({
      defaultCountry: Type.Optional(DefaultCountry),
      agentsMayErase: Type.Optional(AgentsMayErase),
    }),
  },
  { title: 'SettingsChange', example: { settings: { defaultCountry: 'IT' } } },
)

const Me = Type.Object(
  {
    company: Type.Object({ id: Type.Integer(), name: Type.String() }),
    name: Type.String({ description: 'The name of the API key or session.' }),
    permissions: Type.Array(Type.Enum([...PERMISSIONS])),
    settings: Type.Object({
      readReceipts: Type.Boolean({
        description: 'Whether the console shows customers that an agent has read their messages and is writing.',
      }),
      defaultCountry: DefaultCountry,
      agentsMayErase: AgentsMayErase,
    }),
    limits: Type.Object({
      requestsPerMinute: Type.Integer({
        description: 'The requests that all API keys of the company share.',
      }),
    }),
  },
  {
    title: 'Me',
    example: {
      company: { id: 1, name: 'Rossi Shoes' },
      name: 'Shop',
      permissions: ['WhatsApp'],
      settings: { readReceipts: true, defaultCountry: 'IT', agentsMayErase: false },
      limits: { requestsPerMinute: 100 },
    },
  },
)

const MeReply = Type.Object(
  { data: Me },
  { title: 'MeReply', description: 'The company and permissions of the credential.' },
)

/** Must not reveal the company: every page visitor can read a browser key. */
const BrowserMeReply = Type.Object(
  { data: Type.Object({ permissions: Type.Array(Type.Enum([...PERMISSIONS])) }) },
  {
    title: 'BrowserMeReply',
    description: 'The answer to a key that holds only `ContactsUpsert`.',
    'x-permissions': ['ContactsUpsert'],
    example: { data: { permissions: ['ContactsUpsert'] } },
  },
)

const EitherMeReply = Type.Union([MeReply, BrowserMeReply], {
  description: 'The company and permissions of the credential.',
})

type MeDeps = {
  db: Db
  onKeyChanged(clientId: string): void
}

/** Serves `/public/v1/me` (console: section 5). */
export function meRoutes(deps: MeDeps): FastifyPluginAsyncTypebox {
  const { db } = deps
  return async (app) => {
    app.get(
      '/public/v1/me',
      {
        config: { permissions: PERMISSIONS, roles: ROLES },
        schema: {
          tags: ['Credentials'],
          operationId: 'getMe',
          summary: 'Get the company and permissions of the credential',
          description: 'Takes any API key. One that holds only `ContactsUpsert` gets its permissions and nothing else.',
          response: { 200: EitherMeReply },
        },
      },
      async ({ caller }) =>
        caller.browser === undefined
          ? { data: toMe(caller, await getCompany(db, caller.companyId)) }
          : { data: { permissions: [...caller.permissions] } },
    )

    app.patch(
      '/public/v1/me',
      {
        config: { permissions: ['WhatsApp', 'Transactional'], errors: ['validation_error'] },
        schema: {
          tags: ['Credentials'],
          operationId: 'updateMe',
          summary: 'Change the settings of the company',
          description: 'Changes only the settings that are sent. Other processes follow within three seconds.',
          body: SettingsBody,
          response: { 200: MeReply },
        },
      },
      async ({ caller, body }) => {
        const company = await updateCompany(db, caller.companyId, body.settings)
        for (const { clientId } of await listApiKeys(db, caller.companyId)) deps.onKeyChanged(clientId)
        return { data: toMe(caller, company) }
      },
    )
  }
}

const toMe = (caller: Caller, { id, name, readReceipts, defaultCountry, agentsMayErase }: Company) => ({
  company: { id, name },
  name: caller.keyName,
  permissions: [...caller.permissions],
  settings: { readReceipts, defaultCountry, agentsMayErase },
  limits: { requestsPerMinute: caller.rateLimitPerMinute },
})
