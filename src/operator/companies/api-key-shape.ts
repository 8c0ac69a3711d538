import { Type } from 'typebox'
import type { CreatedApiKey } from '../../companies/api-key.ts'
import type { ApiKey } from '../../companies/api-key-admin-store.ts'
import { WRITABLE_FIELDS } from '../../contacts/write/browser-write.ts'
import { PERMISSIONS } from '../../http/admission/caller.ts'
import { orNull, plainText } from '../shape.ts'

const limitOf = (description: string) => orNull(Type.Integer({ minimum: 1, maximum: 1_000_000, description }))

const browserSettings = {
  rateLimitPerMinute: Type.Optional(limitOf("Requests per key in 60 seconds; by default half of the company's limit.")),
  rateLimitPerAddress: Type.Optional(
    limitOf("Requests per key and client address in 60 seconds; by default a fifth of the company's limit."),
  ),
  writableFields: Type.Optional(
    orNull(
      Type.Array(Type.String({ maxLength: 120 }), {
        maxItems: 300,
        description: `Contact members that the key may write in addition to email and phone: ${WRITABLE_FIELDS.join(', ')}, or \`customFields.<key>\`; by default all.`,
      }),
    ),
  ),
  storedBytesPerHour: Type.Optional(
    orNull(
      Type.Integer({
        minimum: 1_024,
        maximum: 2_000_000_000,
        description:
          'Bytes that the key may store per hour, including kept answers; by default 20 MiB. One client address may store a fifth.',
      }),
    ),
  ),
}

export const ApiKeyChangeBody = Type.Object(browserSettings, {
  title: 'ApiKeyChange',
  description: 'Settings for keys with only `ContactsUpsert`; null restores the default.',
  example: { rateLimitPerAddress: 10 },
})

export const NewApiKeyBody = Type.Object(
  {
    name: plainText({ maxLength: 200, description: 'Key name, shown as the sender of its messages.' }),
    permissions: Type.Array(Type.String(), {
      minItems: 1,
      maxItems: 20,
      description: `Permissions in any letter case: ${PERMISSIONS.join(', ')}. A key with only the last one is for browsers.`,
    }),
    allowedOrigins: Type.Optional(
      Type.Array(Type.String({ maxLength: 300 }), {
        maxItems: 100,
        description: 'Web page origins that may use the key, such as `https://app.example.com`; by default none.',
      }),
    ),
    expiresAt: Type.Optional(
      orNull(
        Type.String({
          maxLength: 40,
          description: 'Future date or time in ISO 8601 after which the key stops working.',
        }),
      ),
    ),
    ...browserSettings,
    identitySecret: Type.Optional(
      Type.Boolean({
        description: 'Whether to create an identity secret, with which visitors can prove their identity.',
      }),
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
  clientId: Type.String({ description: 'Public half of the key.' }),
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
    token: Type.String({ description: 'Bearer token, returned only once.' }),
    identitySecret: orNull(Type.String({ description: 'Secret for identity proofs, returned only once.' })),
  },
  {
    title: 'NewApiKey',
    description: 'A new key.',
    example: { ...EXAMPLE, token: 'PARLEY-k3v9m2x7q1w8e5r4-<KEY>', identitySecret: null },
  },
)
export const ApiKeyReply = Type.Object(
  { ...shown, createdAt: Type.String({ format: 'date-time' }) },
  {
    title: 'ApiKey',
    description: 'An API key without secrets.',
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
