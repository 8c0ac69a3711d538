import { Type } from 'typebox'
import type { ApiKey } from '../companies/api-key-admin-store.ts'
import type { Session } from '../http/admission/console-session.ts'
import { ROLES } from '../http/admission/role.ts'
import { Timestamp } from '../http/shapes.ts'
import { DEFAULT_LINK_SECONDS, MOST_LINK_SECONDS, type SignInLink } from './sign-in-link.ts'

export const SignInLinkBody = Type.Object(
  {
    name: Type.String({
      minLength: 1,
      maxLength: 200,
      pattern: '^[^\\u0000-\\u001f\\u007f]*$',
      description: "Person's name, used as `senderName` of messages sent from the session.",
    }),
    permissions: Type.Optional(
      Type.Array(Type.String({ maxLength: 20 }), {
        minItems: 1,
        maxItems: 20,
        description: "WhatsApp, Transactional or both, at most the creator's; by default all of these.",
      }),
    ),
    role: Type.Optional(
      Type.Enum([...ROLES], {
        description:
          'Session role, by default `agent`: conversations and contacts. `developer`: webhook registrations, their logs and templates. `admin`: everything.',
      }),
    ),
    expiresInSeconds: Type.Optional(
      Type.Integer({
        minimum: 60,
        maximum: MOST_LINK_SECONDS,
        description: `By default ${DEFAULT_LINK_SECONDS}.`,
      }),
    ),
    path: Type.Optional(
      Type.String({
        maxLength: 500,
        pattern: '^/console/[!"$-~]*$',
        description: 'Console page to open, such as `/console/inbox/812`; by default the first page.',
      }),
    ),
  },
  { title: 'SignInLinkRequest', example: { name: 'Mara', role: 'agent', permissions: ['WhatsApp'] } },
)

export const SignInLinkReply = Type.Object(
  { url: Type.String(), expiresAt: Timestamp },
  {
    title: 'SignInLink',
    description: 'A one-time sign-in link for the console.',
    example: { url: 'https://parley.example/console/#code=<CODE>', expiresAt: '2026-02-20T10:25:00.000Z' },
  },
)

export const toSignInLinkReply = ({ url, expiresAt }: SignInLink) => ({ url, expiresAt: expiresAt.toISOString() })

export const SignInBody = Type.Object({
  token: Type.String({
    minLength: 1,
    maxLength: 512,
    description: 'An API key, the token of the operator, or the code of a sign-in link.',
  }),
  replace: Type.Optional(
    Type.Boolean({
      description: 'Whether a link may replace the session of the browser; without it the answer is 409.',
    }),
  ),
})

export type Features = {
  sandboxUrl: string | null
  sessionWindow: string
  marketingWindow: string
  serviceName: string
}

const toShown = ({ company, name, permissions, role, endsAt }: Session) => ({
  kind: company === null ? 'operator' : 'company',
  name,
  company,
  permissions,
  role,
  endsAt: endsAt.toISOString(),
})

export const toSessionReply = (session: Session, features: Features) => ({
  ...toShown(session),
  mayErase: session.role === 'admin' || (session.role === 'agent' && session.state.agentsMayErase),
  features,
})

export const toSessionEntry = (session: Session, current: Session) => ({
  ...toShown(session),
  id: session.id,
  agent: session.agent,
  createdAt: session.createdAt.toISOString(),
  seenAt: session.seenAt.toISOString(),
  isCurrent: session.id === current.id,
})

/** Builds a key list entry for developers; must not contain credentials. */
export const toKeyEntry = ({ name, permissions, expiresAt, createdAt }: ApiKey) => ({
  name,
  permissions,
  expiresAt: expiresAt?.toISOString() ?? null,
  createdAt: createdAt.toISOString(),
})
