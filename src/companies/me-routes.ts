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
  "Country (ISO code) whose national numbers the company writes: a contact's phone without `+` or `00` is read as national if valid there. Null: every phone must have a country code.",
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
    name: Type.String({ description: 'API key or session name.' }),
    permissions: Type.Array(Type.Enum([...PERMISSIONS])),
    settings: Type.Object({
      readReceipts: Type.Boolean({
        description: 'Whether the console shows customers that an agent has read their messages and is typing.',
      }),
      defaultCountry: DefaultCountry,
      agentsMayErase: AgentsMayErase,
    }),
    limits: Type.Object({
      requestsPerMinute: Type.Integer({
        description: "Requests shared by all of the company's API keys.",
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
  { title: 'MeReply', description: 'Company and permissions of the credential.' },
)

/** Must not reveal the company: every page visitor can read a browser key. */
const BrowserMeReply = Type.Object(
  { data: Type.Object({ permissions: Type.Array(Type.Enum([...PERMISSIONS])) }) },
  {
    title: 'BrowserMeReply',
    description: 'Answer to a key with only `ContactsUpsert`.',
    'x-permissions': ['ContactsUpsert'],
    example: { data: { permissions: ['ContactsUpsert'] } },
  },
)

const EitherMeReply = Type.Union([MeReply, BrowserMeReply], {
  description: 'Company and permissions of the credential.',
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
          summary: 'Get the current company',
          description:
            "Returns the credential's company and permissions. Any API key works; one with only `ContactsUpsert` gets only its permissions.",
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
          summary: 'Update company settings',
          description: 'Omitted settings stay unchanged. Other processes follow within three seconds.',
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
