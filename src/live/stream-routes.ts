import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { TOPICS, type Topic } from '../changes/live-change.ts'
import type { Caller } from '../http/admission/caller.ts'
import { ROLES, type SessionRole } from '../http/admission/role.ts'
import { fileContent } from '../http/shapes.ts'
import { forbidden, rateLimitExceeded, serviceUnavailable, validationError } from '../platform/errors.ts'
import { eventOf, type Hub, type Stream } from './hub.ts'

export const STREAM_LIMITS = {
  caller: 100,
  company: 300,
  process: 1_000,
  /** Backlog of a slow reader beyond which events are dropped. */
  queuedBytes: 256 * 1024,
}
type StreamLimits = typeof STREAM_LIMITS

export const CONTENT_TYPE = 'text/event-stream; charset=utf-8'
const COMMENT_MS = 25_000
const COMMENT = ':\n\n'
/** With the 3 s credential cache, a stream ends within 5 s of its credential. */
const RECHECK_MS = 1_000
const END_MS = 1_000
const RETRY_AFTER_SECONDS = 5

const DESCRIPTION = `Stays open and sends \`ready\`, \`reset\` (reload what is shown after either), \`bye\` and the topics: records as in
their list, \`message\` as \`{chatId, message}\`, \`answering\` as \`{chatId, name}\`, \`scheduled\`
(scheduled messages of a conversation) as \`{chatId}\`, a deleted \`contact\` as \`{id, deleted}\`.`

type Deps = { hub: Hub }

/** Serves the live stream (console: section 6). */
export function streamRoutes({ hub }: Deps, limits: StreamLimits = STREAM_LIMITS): FastifyPluginAsyncTypebox {
  return async (app) => {
    const streams = createStreams(hub, limits)
    app.addHook('preClose', streams.close)
    app.get(
      '/public/v1/events',
      {
        config: {
          permissions: ['WhatsApp', 'Transactional'],
          roles: ROLES,
          waitsForOthers: true,
          isStream: true,
          errors: ['validation_error'],
        },
        schema: {
          tags: ['Credentials'],
          operationId: 'streamEvents',
          summary: 'Stream live events',
          description: DESCRIPTION,
          querystring: Type.Object({
            topics: Type.Optional(
              Type.String({
                maxLength: 200,
                description: `Comma-separated: ${TOPICS.map((one) => `\`${one}\``).join(', ')}.`,
              }),
            ),
          }),
          response: {
            200: fileContent('The stream.', { 'text/event-stream': 'event: ready\ndata: {}\n\n' }),
          },
        },
      },
      async (request, reply) => {
        const topics = topicsOf(request.query.topics, request.caller, request.session?.role)
        if (request.method === 'HEAD') return reply.header('content-type', CONTENT_TYPE).send()
        await streams.open(request, reply, topics)
      },
    )
  }
}

function createStreams(hub: Hub, limits: StreamLimits) {
  const open = new Set<OpenStream>()
  let isClosing = false
  const rechecking = setInterval(() => {
    for (const stream of open) void stream.recheck()
  }, RECHECK_MS).unref()
  const commenting = setInterval(() => {
    for (const stream of open) stream.write(COMMENT)
  }, COMMENT_MS).unref()
  return {
    open: async (request: FastifyRequest, reply: FastifyReply, topics: ReadonlySet<Topic>): Promise<void> => {
      // A stream opened now would delay the stop.
      if (isClosing) throw serviceUnavailable('The service is stopping', RETRY_AFTER_SECONDS)
      makeRoom(open, request.caller, limits)
      const stream = createStream(request, reply, topics, limits)
      open.add(stream)
      const ended = stream.ended.then(() => open.delete(stream))
      const remove = await hub.open(stream)
      ended.then(remove)
      stream.write(eventOf('ready', '{}'))
    },
    close: async (): Promise<void> => {
      isClosing = true
      clearInterval(rechecking)
      clearInterval(commenting)
      const closed = hub.close()
      for (const stream of open) stream.end()
      await closed
    },
  }
}

const WITHOUT_WHATSAPP: readonly Topic[] = ['import', 'contact']
const TOPICS_OF: Record<SessionRole, readonly Topic[]> = {
  agent: TOPICS.filter((topic) => topic !== 'delivery'),
  developer: ['delivery'],
  admin: TOPICS,
}

/** Returns the requested topics, by default all readable ones; throws 403 for any other. Keys read like admins. */
function topicsOf(
  requested: string | undefined,
  { permissions }: Caller,
  role: SessionRole = 'admin',
): ReadonlySet<Topic> {
  const isPermitted = (topic: Topic) => WITHOUT_WHATSAPP.includes(topic) || permissions.includes('WhatsApp')
  const mayRead = (topic: Topic) => isPermitted(topic) && TOPICS_OF[role].includes(topic)
  if (requested === undefined) return new Set(TOPICS.filter(mayRead))
  const names = requested.split(',').map((name) => name.trim())
  const topics = TOPICS.filter((topic) => names.includes(topic))
  if (names.some((name) => !topics.some((topic) => topic === name))) {
    throw validationError([{ path: 'topics', message: `must be some of ${TOPICS.join(', ')}, with commas` }])
  }
  if (!topics.every(isPermitted)) throw forbidden('The topics need the permission WhatsApp')
  if (!topics.every(mayRead)) throw forbidden(`A session of the role ${role} reads ${TOPICS_OF[role].join(', ')} alone`)
  return new Set(topics)
}

/**
 * In a full process, ends the oldest stream of the company with the most, if that company keeps more than the caller's.
 * Otherwise four companies could take all streams.
 */
function makeRoom(open: Set<OpenStream>, { clientId, companyId }: Caller, limits: StreamLimits): void {
  const byCompany = Map.groupBy(open, (one) => one.companyId)
  const ofCompany = byCompany.get(companyId) ?? []
  const ofCaller = ofCompany.filter((one) => one.clientId === clientId)
  if (ofCaller.length >= limits.caller || ofCompany.length >= limits.company) {
    throw rateLimitExceeded(RETRY_AFTER_SECONDS, 'Too many streams are open')
  }
  if (open.size < limits.process) return
  const most = [...byCompany.values()].reduce((one, other) => (other.length > one.length ? other : one), [])
  const [oldest] = most
  if (oldest === undefined || most.length <= ofCompany.length + 1) {
    throw serviceUnavailable('Too many streams are open', RETRY_AFTER_SECONDS)
  }
  open.delete(oldest)
  oldest.end()
}

type OpenStream = Stream & {
  readonly clientId: string
  recheck(): Promise<void>
  end(): void
  readonly ended: Promise<void>
}

function createStream(
  request: FastifyRequest,
  reply: FastifyReply,
  topics: ReadonlySet<Topic>,
  limits: StreamLimits,
): OpenStream {
  const { companyId, clientId } = request.caller
  reply.hijack()
  const { raw } = reply
  const { promise: ended, resolve } = Promise.withResolvers<void>()
  raw.writeHead(200, {
    ...headersOf(reply),
    'content-type': CONTENT_TYPE,
    'cache-control': 'no-store',
    // nginx would buffer the events.
    'x-accel-buffering': 'no',
    // A kept-alive connection would delay a stop.
    connection: 'close',
  })
  let isBehind = false

  const write = (text: string | Buffer) => {
    if (isBehind || raw.writableEnded) return
    // A single write may exceed the limit: only a slow reader should miss events.
    if (raw.writableLength > limits.queuedBytes) isBehind = true
    else raw.write(text)
  }
  raw.on('drain', () => {
    if (!isBehind) return
    isBehind = false
    write(eventOf('reset', '{}'))
  })
  const end = () => {
    raw.end()
    // A stalled reader would never finish.
    setTimeout(() => raw.destroy(), END_MS).unref()
  }
  const recheck = async () => {
    // A database outage must not end streams.
    if (!(await request.server.isStillAdmitted(request).catch(() => true))) end()
  }
  raw.on('close', resolve)
  return { companyId, clientId, topics, write, recheck, end, ended }
}

const headersOf = (reply: FastifyReply): Record<string, string | string[]> =>
  Object.fromEntries(
    Object.entries(reply.getHeaders()).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, typeof value === 'number' ? String(value) : value]],
    ),
  )
