import { Type } from 'typebox'
import type { ApiKey } from '../companies/api-key-admin-store.ts'
import { PERMISSIONS } from '../http/caller.ts'
import { orNull, plainText } from './shape.ts'

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
  },
  { title: 'ApiKeyRequest', example: { name: 'Shop server', permissions: ['WhatsApp', 'Transactional'] } },
)

const EXAMPLE = {
  clientId: 'k3v9m2x7q1w8e5r4',
  name: 'Shop server',
  permissions: ['WhatsApp', 'Transactional'],
  allowedOrigins: [],
  expiresAt: null,
}

const shown = {
  clientId: Type.String({ description: 'The public half of the key.' }),
  name: Type.String(),
  permissions: Type.Array(Type.String()),
  allowedOrigins: Type.Array(Type.String()),
  expiresAt: orNull(Type.String({ format: 'date-time' })),
}

export const NewApiKeyReply = Type.Object(
  { ...shown, token: Type.String({ description: 'The bearer token, which is returned only once.' }) },
  {
    title: 'NewApiKey',
    description: 'A key that was just created.',
    example: { ...EXAMPLE, token: 'PARLEY-k3v9m2x7q1w8e5r4-<KEY>' },
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
})

/** The only reply with the token of the key; the database has a hash of it. */
export const toNewApiKeyReply = (key: ApiKey & { readonly token: string }) => ({ ...toShown(key), token: key.token })
/** A key as lists show it, without its token. */
export const toApiKeyReply = (key: ApiKey) => ({ ...toShown(key), createdAt: key.createdAt.toISOString() })
