import { Type } from 'typebox'
import type { CreatedApiKey } from '../../companies/api-key.ts'
import type { ApiKey } from '../../companies/api-key-admin-store.ts'
import { WRITABLE_FIELDS } from '../../contacts/write/browser-write.ts'
import { PERMISSIONS } from '../../http/admission/caller.ts'
import { orNull, plainText } from '../shape.ts'

const limitOf = (description: string) => orNull(Type.Integer({ minimum: 1, maximum: 1_000_000, description }))

const browserSettings = {
  rateLimitPerMinute: Type.Optional(
    limitOf('The requests of the key in 60 seconds; by default half of the limit of the company.'),
  ),
  rateLimitPerAddress: Type.Optional(
    limitOf(
      'The requests of one client address with the key in 60 seconds; by default a fifth of the limit of the company.',
    ),
  ),
  writableFields: Type.Optional(
    orNull(
      Type.Array(Type.String({ maxLength: 120 }), {
        maxItems: 300,
        description: `The members of contacts that the key may write in addition to email and phone: ${WRITABLE_FIELDS.join(', ')}, or \`customFields.<key>\`; by default all.`,
      }),
    ),
  ),
  storedBytesPerHour: Type.Optional(
    orNull(
      Type.Integer({
        minimum: 1_024,
        maximum: 2_000_000_000,
        description:
          'The bytes that the key may store in an hour, kept answers included; by default 20 MiB. One client address may store a fifth.',
      }),
    ),
  ),
}

export const ApiKeyChangeBody = Type.Object(browserSettings, {
  title: 'ApiKeyChange',
  description: 'Settings of a key that holds `ContactsUpsert` alone; null sets the default.',
  example: { rateLimitPerAddress: 10 },
})

export const NewApiKeyBody = Type.Object(
  {
    name: plainText({ maxLength: 200, description: 'The name of the key, which its messages show as their sender.' }),
    permissions: Type.Array(Type.String(), {
      minItems: 1,
      maxItems: 20,
      description: `The permissions in any letter case: ${PERMISSIONS.join(', ')}. A key that holds only the last one is for browsers.`,
    }),
    allowedOrigins: Type.Optional(
      Type.Array(Type.String({ maxLength: 300 }), {
        maxItems: 100,
        description:
          'The origins of web pages that may use the key, such as `https://app.example.com`; by default none.',
      }),
    ),
    expiresAt: Type.Optional(
      orNull(
        Type.String({
          maxLength: 40,
          description: 'A future date or time in ISO 8601 after which the key does not work any more.',
        }),
      ),
    ),
    ...browserSettings,
    identitySecret: Type.Optional(
      Type.Boolean({ description: 'Whether to make an identity secret, with which visitors prove who they are.' }),
    ),
  },
  { title: 'ApiKeyRequest', example: { name: 'Shop server', permissions: ['WhatsApp', 'Transactional'] } },
)

const EXAMPLE = {
  clientId: 'k3v9m2x7q1w8e5r4',
  name: 'Shop server',
  permissions: ['WhatsApp', 'Transactional'],
  allowedOrigins: [],
  expiresAt: null,
  rateLimitPerMinute: null,
  rateLimitPerAddress: null,
  writableFields: null,
  storedBytesPerHour: null,
  hasIdentitySecret: false,
}

const shown = {
  clientId: Type.String({ description: 'The public half of the key.' }),
  name: Type.String(),
  permissions: Type.Array(Type.String()),
  allowedOrigins: Type.Array(Type.String()),
  expiresAt: orNull(Type.String({ format: 'date-time' })),
  rateLimitPerMinute: orNull(Type.Integer()),
  rateLimitPerAddress: orNull(Type.Integer()),
  writableFields: orNull(Type.Array(Type.String())),
  storedBytesPerHour: orNull(Type.Integer()),
  hasIdentitySecret: Type.Boolean(),
}

export const NewApiKeyReply = Type.Object(
  {
    ...shown,
    token: Type.String({ description: 'The bearer token, which is returned only once.' }),
    identitySecret: orNull(
      Type.String({ description: 'The secret of proofs of identity, which is returned only once.' }),
    ),
  },
  {
    title: 'NewApiKey',
    description: 'A key that was just created.',
    example: { ...EXAMPLE, token: 'PARLEY-k3v9m2x7q1w8e5r4-<KEY>', identitySecret: null },
  },
)
export const ApiKeyReply = Type.Object(
  { ...shown, createdAt: Type.String({ format: 'date-time' }) },
  {
    title: 'ApiKey',
    description: 'An API key without its secret.',
    example: { ...EXAMPLE, createdAt: '2026-02-20T10:15:00.000Z' },
  },
)

const toShown = (key: ApiKey) => ({
  clientId: key.clientId,
  name: key.name,
  permissions: [...key.permissions],
  allowedOrigins: [...key.allowedOrigins],
  expiresAt: key.expiresAt?.toISOString() ?? null,
  rateLimitPerMinute: key.keyLimitPerMinute,
  rateLimitPerAddress: key.addressLimitPerMinute,
  writableFields: key.writableFields && [...key.writableFields],
  storedBytesPerHour: key.storedBytesPerHour,
  hasIdentitySecret: key.hasIdentitySecret,
})

/** The only response with token and identity secret; we only store a hash and an encrypted secret. */
export const toNewApiKeyReply = (key: CreatedApiKey) => ({
  ...toShown(key),
  token: key.token,
  identitySecret: key.identitySecret,
})
export const toApiKeyReply = (key: ApiKey) => ({ ...toShown(key), createdAt: key.createdAt.toISOString() })
