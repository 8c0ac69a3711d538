import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { TOPICS, type Topic } from '../changes/live-change.ts'
import type { Caller } from '../http/admission/caller.ts'
import { ROLES, type SessionRole } from '../http/admission/role.ts'
import { fileContent } from '../http/shapes.ts'
import { forbidden, rateLimitExceeded, serviceUnavailable, validationError } from '../platform/errors.ts'
import { eventOf, type Hub, type Stream } from './hub.ts'

/** Bounds of open streams. */
export const STREAM_LIMITS = {
  /** Streams of a key or session, of a company and of a process. */
  caller: 100,
  company: 300,
  process: 1_000,
  /** Bytes that wait for a slow reader when events are left out. */
  queuedBytes: 256 * 1024,
}
type StreamLimits = typeof STREAM_LIMITS

export const CONTENT_TYPE = 'text/event-stream; charset=utf-8'
const COMMENT_MS = 25_000
const COMMENT = ':\n\n'
/** With the 3 s for which a credential is remembered, a stream ends within 5 s of its credential. */
const RECHECK_MS = 1_000
/** How long the connection of a stream that ends may take to carry what was sent. */
const END_MS = 1_000
const RETRY_AFTER_SECONDS = 5

const DESCRIPTION = `Stays open and sends \`ready\`, \`reset\` (after both read again what is shown), \`bye\` and the topics: a record as
its list returns it, \`message\` as \`{chatId, message}\`, \`answering\` as \`{chatId, name}\`, \`scheduled\`
(scheduled messages of a conversation) as \`{chatId}\`, a deleted \`contact\` as \`{id, deleted}\`.`

type Deps = { hub: Hub }

/** The live stream (console: section 6). */
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
          summary: 'Stream changes as they happen',
          description: DESCRIPTION,
          querystring: Type.Object({
            topics: Type.Optional(
              Type.String({
                maxLength: 200,
                description: `Some of ${TOPICS.map((one) => `\`${one}\``).join(', ')}, with commas.`,
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

/** The open streams of the process. */
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
      // A stream that opens after the others have ended would delay the stop.
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

/** Topics that need no permission `WhatsApp`, and those of each role of a session. */
const WITHOUT_WHATSAPP: readonly Topic[] = ['import', 'contact']
const TOPICS_OF: Record<SessionRole, readonly Topic[]> = {
  agent: TOPICS.filter((topic) => topic !== 'delivery'),
  developer: ['delivery'],
  admin: TOPICS,
}

/**
 * The topics that a query names, by default all that the caller may read; 403 for one that it may not. A key reads what an
 * admin reads.
 */
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
 * Checks that the caller may open one more stream. When the process has no room, the oldest stream ends of the company with the
 * most, if it keeps more than the caller's company gets: otherwise four companies could take the streams of all others.
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
  /** Ends it with its credential. */
  recheck(): Promise<void>
  end(): void
  readonly ended: Promise<void>
}

/** Takes the answer over. It ends with its connection or its credential. */
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
    // nginx would keep the events until a buffer is full.
    'x-accel-buffering': 'no',
    // So that a stop does not wait for the connection.
    connection: 'close',
  })
  let isBehind = false

  const write = (text: string | Buffer) => {
    if (isBehind || raw.writableEnded) return
    // One write may be larger: only a reader that is behind misses events.
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
    // A reader that has stopped reading never takes the end.
    setTimeout(() => raw.destroy(), END_MS).unref()
  }
  const recheck = async () => {
    // A database that does not answer ends no stream.
    if (!(await request.server.isStillAdmitted(request).catch(() => true))) end()
  }
  raw.on('close', resolve)
  return { companyId, clientId, topics, write, recheck, end, ended }
}

/** The headers that hooks have set. */
const headersOf = (reply: FastifyReply): Record<string, string | string[]> =>
  Object.fromEntries(
    Object.entries(reply.getHeaders()).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, typeof value === 'number' ? String(value) : value]],
    ),
  )
