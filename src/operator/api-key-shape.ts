import { Type } from 'typebox'
import type { ApiKey } from '../companies/api-key.ts'
import { PERMISSIONS } from '../http/caller.ts'
import { orNull, plainText } from './shape.ts'

export const NewApiKeyBody = Type.Object({
  name: plainText({ maxLength: 200, description: 'What the key is for; shown as the sender of its messages' }),
  permissions: Type.Array(Type.String(), {
    minItems: 1,
    maxItems: 20,
    description: `What the key may do, in any letter case: ${PERMISSIONS.join(', ')} (for browsers: only writes contacts)`,
  }),
  allowedOrigins: Type.Optional(
    Type.Array(Type.String({ maxLength: 300 }), {
      maxItems: 100,
      description: 'Origins of web pages that may use the key, such as `https://app.example.com`; none unless set',
    }),
  ),
  expiresAt: Type.Optional(
    orNull(Type.String({ maxLength: 40, description: 'When the key stops working: an ISO 8601 date or time to come' })),
  ),
})

const shown = {
  clientId: Type.String({ description: 'The public half of the key' }),
  name: Type.String(),
  permissions: Type.Array(Type.String()),
  allowedOrigins: Type.Array(Type.String()),
  expiresAt: orNull(Type.String({ format: 'date-time' })),
}

export const NewApiKeyReply = Type.Object(
  { ...shown, token: Type.String({ description: 'The bearer token: shown now and never again' }) },
  { description: 'A key that was just made' },
)
export const ApiKeyReply = Type.Object(
  { ...shown, createdAt: Type.String({ format: 'date-time' }) },
  { description: 'An API key, without its secret' },
)

const toShown = (key: ApiKey) => ({
  clientId: key.clientId,
  name: key.name,
  permissions: [...key.permissions],
  allowedOrigins: [...key.allowedOrigins],
  expiresAt: key.expiresAt?.toISOString() ?? null,
})

export const toNewApiKeyReply = (key: ApiKey & { readonly token: string }) => ({ ...toShown(key), token: key.token })
export const toApiKeyReply = (key: ApiKey) => ({ ...toShown(key), createdAt: key.createdAt.toISOString() })
