import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { isbot } from 'isbot'
import { Type } from 'typebox'
import { type RecordEvents, writeWithEvents } from '../../changes/record-change.ts'
import type { Db, Pool } from '../../db/connect.ts'
import { createStatementBatcher } from '../../db/statement-batcher.ts'
import { notFound } from '../../platform/errors.ts'
import { TRACKING_PATHS } from './track-email.ts'
import {
  type Fetch,
  type Found,
  findMailed,
  type Mailed,
  recordFetches,
  toFound,
  watchEmails,
} from './tracking-store.ts'
import { parseToken, type TokenUse, type TrackingToken } from './tracking-token.ts'

/**
 * Mail proxies and link scanners missing from crawler lists. Apple's privacy proxy sends only `Mozilla/5.0`. Desktop
 * Outlook with a reader sends `Microsoft Office` and `ms-office`; prefetches, `Microsoft Office Existence Discovery`.
 */
const MAIL_MACHINES =
  /proxy|scan|barracuda|proofpoint|mimecast|safe-?links?|office (existence|protocol) discovery|symantec|trendmicro|forcepoint|fireeye|sophos|^mozilla\/5\.0$/i

type Headers = Readonly<Record<string, string | string[] | undefined>>

export type TrackingDeps = {
  db: Pool
  unsubscribe(mailed: Mailed): Promise<void>
  recordEvents: RecordEvents
}

const config = { surface: 'public' } as const
const params = Type.Object({ token: Type.String() })
const schema = { hide: true, params }

const PIXEL = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64')
const MAX_BATCH = 1_000
/** Fetches beyond either limit get 503. */
const MAX_WAITING = 5_000
const MAX_WAIT_MS = 2_000
/** Groups fetches into statements; a single one does not wait. */
const SPACING_MS = 5

/** Registers open, click and unsubscribe URLs (decisions: Email). Counts before replying; 404 for an invalid token. */
export function trackingRoutes(deps: TrackingDeps): FastifyPluginAsyncTypebox {
  const record = createStatementBatcher<Fetch, Found | undefined>({
    run: (fetches) => writeFetches(deps, fetches),
    maxItems: MAX_BATCH,
    // One is written while another commits.
    maxRunning: 2,
    spacingMs: SPACING_MS,
    maxWaiting: MAX_WAITING,
    maxWaitMs: MAX_WAIT_MS,
  })
  const follow = async (request: FastifyRequest, reply: FastifyReply, use: TokenUse, text: string): Promise<Found> => {
    reply.header('cache-control', 'no-store').header('x-robots-tag', 'noindex').header('referrer-policy', 'no-referrer')
    const found = await record({
      token: readToken(text, use),
      isCounted: request.method !== 'HEAD',
      isMachine: isMachine(request.headers),
    })
    if (found === undefined) throw notFound()
    return found
  }

  return async (app) => {
    // A returned reply would be awaited until its last byte is sent; a body is not.
    app.get(`${TRACKING_PATHS.open}:token`, { config, schema }, async (request, reply) => {
      await follow(request, reply, 'open', request.params.token)
      reply.type('image/gif')
      return PIXEL
    })

    app.get(`${TRACKING_PATHS.click}:token`, { config, schema }, async (request, reply) => {
      const { target } = await follow(request, reply, 'click', request.params.token)
      if (target === null) throw notFound()
      reply.code(302).header('location', target)
      return null
    })

    await app.register(unsubscribeRoutes(deps))
  }
}

async function writeFetches({ db, recordEvents: events }: TrackingDeps, fetches: readonly Fetch[]) {
  const emails = fetches.map(({ token: { companyId, emailId: id } }) => ({ companyId, id }))
  const companyIds = emails.map(({ companyId }) => companyId)
  const rows = await writeWithEvents({ db, events }, 'email.status', companyIds, {
    watch: (tx) => watchEmails(tx, emails),
    write: (tx) => recordFetches(tx, fetches),
  })
  return toFound(fetches, rows)
}

function unsubscribeRoutes(deps: TrackingDeps): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.addContentTypeParser('*', (_request, body, done) => {
      body.resume()
      done(null)
    })

    app.get(`${TRACKING_PATHS.unsubscribe}:token`, { config, schema }, async (request, reply) => {
      await getMailed(deps.db, request.params.token)
      return sendPage(reply, '<form method="post"><button type="submit">Unsubscribe</button></form>')
    })

    app.post(`${TRACKING_PATHS.unsubscribe}:token`, { config, schema }, async (request, reply) => {
      await deps.unsubscribe(await getMailed(deps.db, request.params.token))
      return sendPage(reply, '<p>You are unsubscribed: no more marketing mails will be sent to you.</p>')
    })
  }
}

async function getMailed(db: Db, text: string) {
  const mailed = await findMailed(db, readToken(text, 'unsubscribe'))
  if (mailed === undefined) throw notFound()
  return mailed
}

function readToken(text: string, use: TokenUse): TrackingToken {
  const token = parseToken(text, use)
  if (token === undefined) throw notFound()
  return token
}

const sendPage = (reply: FastifyReply, content: string) =>
  reply
    .header('cache-control', 'no-store')
    .header('x-robots-tag', 'noindex')
    .header('content-security-policy', "default-src 'none'; form-action 'self'; frame-ancestors 'none'")
    .type('text/html; charset=utf-8')
    .send(
      `<!doctype html><html lang="en"><meta charset="utf-8"><title>Unsubscribe</title><meta name="viewport" content="width=device-width">${content}</html>`,
    )

/** Returns whether a fetch looks automated; counted anyway, but flagged. */
export function isMachine(headers: Headers): boolean {
  const agent = String(headers['user-agent'] ?? '').trim()
  if (agent === '' || MAIL_MACHINES.test(agent) || isbot(agent)) return true
  const purposes = [headers.purpose, headers['sec-purpose'], headers['x-purpose'], headers['x-moz']]
  return purposes.some((purpose) => /prefetch|prerender|preview/i.test(String(purpose ?? '')))
}
