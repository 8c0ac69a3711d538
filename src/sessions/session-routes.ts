import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { listApiKeys } from '../companies/api-key.ts'
import type { Db } from '../db/connect.ts'
import type { Session } from '../http/admission/console-session.ts'
import { ROLES } from '../http/admission/role.ts'
import { beforeQuery, parseBefore } from '../http/paging/paging.ts'
import { AppError, companyNotFound, signInRequired } from '../platform/errors.ts'
import type { ConsoleSessions } from './session.ts'
import { type Features, SignInBody, toKeyEntry, toSessionEntry, toSessionReply } from './session-shape.ts'

const PAGE = { defaultSize: 25, maxSize: 100 }
const BODY_LIMIT = 4_096
const config = { surface: 'console' } as const
const own = { ...config, roles: ROLES }
/** Internal to the console: described in docs/console.md, not in the API reference. */
const hide = true

export type SessionRoutesDeps = {
  db: Db
  sessions: ConsoleSessions
  features: Features
  addressOf: (request: FastifyRequest) => string
}

/** Serves signing in and out and the session list (docs/console.md). */
export function sessionRoutes({ db, sessions, features, addressOf }: SessionRoutesDeps): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.post(
      '/console/api/session',
      { config: { ...config, isSignIn: true }, bodyLimit: BODY_LIMIT, schema: { hide, body: SignInBody } },
      async (request, reply) => {
        const line = { requestId: request.id, address: addressOf(request) }
        try {
          const { session, cookies } = await sessions.signIn(request.body.token, {
            agent: String(request.headers['user-agent'] ?? ''),
            cookies: request.headers.cookie,
            mayReplace: request.body.replace,
          })
          const about = { sessionId: session.id, companyId: session.company?.id, name: session.name }
          request.log.info({ ...line, ...about }, 'console.signed_in')
          reply.header('set-cookie', cookies)
          return toSessionReply(session, features)
        } catch (error) {
          if (error instanceof AppError) request.log.warn(line, 'console.sign_in_refused')
          throw error
        }
      },
    )

    app.get('/console/api/session', { config: own, schema: { hide } }, async (request) =>
      toSessionReply(sessionOf(request), features),
    )

    app.delete('/console/api/session', { config: own, schema: { hide } }, async (request, reply) => {
      await sessions.end(null, sessionOf(request).id)
      reply.header('set-cookie', sessions.signOutCookies)
      return { success: true }
    })

    app.get('/console/api/keys', { config: { ...config, roles: ['developer'] }, schema: { hide } }, async (request) => {
      const { company } = sessionOf(request)
      if (company === null) throw companyNotFound()
      return { data: (await listApiKeys(db, company.id)).map(toKeyEntry) }
    })

    app.get(
      '/console/api/sessions',
      { config, schema: { hide, querystring: Type.Object(beforeQuery(PAGE)) } },
      async (request) => {
        const current = sessionOf(request)
        const { before, limit } = parseBefore(request.query, PAGE)
        const list = await sessions.list(current.company?.id ?? null, before ?? null, limit)
        const data = list.map((session) => toSessionEntry(session, current))
        return { data, nextBefore: data.length === limit ? (data.at(-1)?.id ?? null) : null }
      },
    )

    app.delete(
      '/console/api/sessions/:id',
      { config, schema: { hide, params: Type.Object({ id: Type.String() }) } },
      async (request) => {
        await sessions.end(sessionOf(request).company?.id ?? null, request.params.id)
        return { success: true }
      },
    )
  }
}

function sessionOf({ session }: FastifyRequest): Session {
  if (session === null) throw signInRequired()
  return session
}
