import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { Value } from 'typebox/value'
import { asFinal, testOutcomeUnknown } from '../errors.ts'
import { completeKey, recordProgress } from '../http/idempotency.ts'
import { beforeQuery, parseBefore } from '../http/paging.ts'
import { parseId } from '../ids.ts'
import { type DeliveryLog, listLogs, MAX_LOG_ROWS } from './delivery-log-store.ts'
import { parseRange, type RangeProgress, type RedeliveryDeps, redeliverLog, redeliverRange } from './redelivery.ts'
import { getRegistration } from './registration.ts'
import { type TestDeliveryDeps, testRegistration } from './test-delivery.ts'

export type DeliveryLogRoutesDeps = TestDeliveryDeps & RedeliveryDeps

const PATH = '/public/v1/webhooks/registrations/:id'
const ById = Type.Object({ id: Type.String() })
const Nullable = <T extends 'string' | 'integer'>(type: T) =>
  Type.Unsafe<(T extends 'string' ? string : number) | null>({ type: [type, 'null'] })
const Success = Type.Object({ success: Type.Boolean() })
const tags = ['Webhook registrations']

const LogReply = Type.Object(
  {
    id: Type.Integer(),
    deliveryId: Type.Integer(),
    attempt: Type.Integer({ minimum: 1, maximum: 5 }),
    payload: Type.Unsafe<string>({ type: 'object', additionalProperties: true, description: 'The delivered body' }),
    response: Nullable('string'),
    statusCode: Nullable('integer'),
    errorMessage: Nullable('string'),
    deadLettered: Type.Boolean(),
    sentAt: Type.String({ format: 'date-time' }),
    createdAt: Type.String({ format: 'date-time' }),
  },
  { title: 'WebhookDeliveryLog' },
)

const TestReply = Type.Object({
  data: Type.Object({
    statusCode: Nullable('integer'),
    response: Nullable('string'),
    errorMessage: Nullable('string'),
    durationMs: Type.Integer(),
  }),
})

const PAGE = { defaultSize: MAX_LOG_ROWS, maxSize: MAX_LOG_ROWS }
const LogQuery = Type.Object({
  ...beforeQuery(PAGE),
  status: Type.Optional(
    Type.Union([Type.Literal('delivered'), Type.Literal('failed'), Type.Literal('dead')], {
      description:
        '`delivered` or `failed`: attempts with that outcome. `dead`: the last attempts of dead-lettered deliveries',
    }),
  ),
})

const Redeliver = Type.Object({
  since: Type.String({ format: 'date-time', description: 'Deliveries made from here on' }),
  until: Type.Optional(Type.String({ format: 'date-time', description: 'and before this; now when it is absent' })),
  onlyDeadLettered: Type.Optional(Type.Boolean({ description: 'Only those whose attempts all failed' })),
})

/** What became of deliveries, and doing them again (spec: Webhook delivery log row; decisions: section 10). */
export function deliveryLogRoutes(deps: DeliveryLogRoutesDeps): FastifyPluginAsyncTypebox {
  const config = { permissions: ['WhatsApp'] as const }
  // A receiver has ten seconds, and a long range takes its time.
  const asking = { ...config, takesLong: true }

  return async (app) => {
    app.get(
      `${PATH}/logs`,
      {
        config,
        schema: {
          tags,
          operationId: 'listDeliveryAttempts',
          summary: 'List delivery attempts, newest first',
          description: 'Every attempt that is kept can be reached with `before`, the `id` of the last row of a page.',
          params: ById,
          querystring: LogQuery,
          response: { 200: Type.Array(LogReply) },
        },
      },
      async (request, reply) => {
        const { companyId } = request.caller
        const registration = await getRegistration(deps, companyId, parseId(request.params.id))
        const { status } = request.query
        const logs = await listLogs(deps.db, companyId, registration.id, {
          ...parseBefore(request.query, PAGE),
          status,
        })
        reply.type('application/json; charset=utf-8').serializer(serializeLogs)
        return logs.map(toLogReply)
      },
    )

    app.post(
      `${PATH}/test`,
      {
        config: asking,
        schema: {
          tags,
          operationId: 'testRegistration',
          summary: 'Send one sample delivery now',
          params: ById,
          response: { 200: TestReply },
        },
      },
      async (request, reply) => {
        if (request.idempotency?.progress) throw asFinal(testOutcomeUnknown())
        const outcome = await testRegistration(deps, request.caller.companyId, parseId(request.params.id), () =>
          recordProgress(deps.db, request, { isStarted: true }),
        )
        const { statusCode, response, errorMessage, durationMs } = outcome
        const answer = { data: { statusCode, response, errorMessage, durationMs } }
        await completeKey(deps.db, request, reply, 200, answer)
        return answer
      },
    )

    app.post(
      `${PATH}/logs/:logId/redeliver`,
      {
        config,
        schema: {
          tags,
          operationId: 'redeliver',
          summary: 'Deliver one delivery again',
          params: Type.Object({ id: Type.String(), logId: Type.String() }),
          response: { 200: Success },
        },
      },
      async (request, reply) => {
        const { id, logId } = request.params
        const answer = { success: true }
        await redeliverLog(deps, request.caller.companyId, parseId(id), parseId(logId), (tx) =>
          completeKey(tx, request, reply, 200, answer),
        )
        return answer
      },
    )

    app.post(
      `${PATH}/redeliver`,
      {
        config: asking,
        schema: {
          tags,
          operationId: 'redeliverRange',
          summary: 'Deliver the deliveries of a time range again',
          params: ById,
          body: Redeliver,
          response: { 200: Type.Object({ success: Type.Boolean(), count: Type.Integer() }) },
        },
      },
      async (request, reply) => {
        const { companyId } = request.caller
        const id = parseId(request.params.id)
        const range = parseRange(request.body, deps.clock.now())
        const earlier = readProgress(request.idempotency?.progress)
        const toAnswer = (count: number) => ({ success: true, count })
        const count = await redeliverRange(deps, companyId, id, range, earlier, (tx, progress) =>
          progress.cursor === null
            ? completeKey(tx, request, reply, 200, toAnswer(progress.count))
            : recordProgress(tx, request, progress),
        )
        return toAnswer(count)
      },
    )
  }
}

const RangeProgressShape = Type.Object({
  until: Type.String(),
  count: Type.Integer(),
  cursor: Type.Union([Type.Integer(), Type.Null()]),
})

const readProgress = (stored: unknown): RangeProgress | null =>
  Value.Check(RangeProgressShape, stored) ? stored : null

const toLogReply = ({ body, ...log }: DeliveryLog) => ({
  ...log,
  payload: body,
  sentAt: log.sentAt.toISOString(),
  createdAt: log.createdAt.toISOString(),
})

/** Bodies are JSON already and go out as they are: parsing them would cost time and change long numbers. */
const serializeLogs = (logs: ReturnType<typeof toLogReply>[]): string =>
  `[${logs.map(({ payload, ...rest }) => `{"payload":${payload},${JSON.stringify(rest).slice(1)}`).join(',')}]`
