import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { completeKey, recordKeyProgress } from '../../../http/idempotency/idempotency.ts'
import { beforeQuery, parseBefore } from '../../../http/paging/paging.ts'
import { instant, nullableInteger, nullableText, pathId, Success } from '../../../http/shapes.ts'
import { asFinal, testOutcomeUnknown } from '../../../platform/errors.ts'
import { parseId } from '../../../platform/ids.ts'
import { getRegistration } from '../../registrations/registration.ts'
import { type TestDeliveryDeps, testRegistration } from '../../registrations/test-delivery.ts'
import {
  countRange,
  parseRedeliveryRange,
  type RedeliveryDeps,
  redeliverLog,
  redeliverRange,
} from '../redelivery/redelivery.ts'
import { type DeliveryLog, listLogs, MAX_LOG_ROWS } from './delivery-log-store.ts'

export type DeliveryLogRoutesDeps = TestDeliveryDeps & RedeliveryDeps

const PATH = '/public/v1/webhooks/registrations/:id'
const ById = Type.Object({ id: pathId('RegistrationId', 'Registration id.') })
const Response = nullableText("Body of the receiver's answer.")
const StatusCode = nullableInteger("Status of the receiver's answer; null if there was none.")
const ErrorMessage = nullableText('Why the attempt failed; null after a success.')
const tags = ['Webhook registrations']

const LogReply = Type.Object(
  {
    id: Type.Integer(),
    deliveryId: Type.Integer({ description: 'Id shared by all attempts of one delivery.' }),
    attempt: Type.Integer({ minimum: 1, maximum: 5, description: 'Attempt number.' }),
    payload: Type.Unsafe<string>({ type: 'object', additionalProperties: true, description: 'Delivered body.' }),
    response: Response,
    statusCode: StatusCode,
    errorMessage: ErrorMessage,
    deadLettered: Type.Boolean({ description: 'Whether this was the last attempt of a failed delivery.' }),
    sentAt: Type.String({ format: 'date-time' }),
    createdAt: Type.String({ format: 'date-time' }),
  },
  {
    title: 'DeliveryAttempt',
    example: {
      id: 5120,
      deliveryId: 2207,
      attempt: 1,
      payload: { version: '1', event: 'whatsapp.message.received', companyId: 1 },
      response: 'ok',
      statusCode: 200,
      errorMessage: null,
      deadLettered: false,
      sentAt: '2026-03-02T09:30:01.204Z',
      createdAt: '2026-03-02T09:30:01.391Z',
    },
  },
)

const TestReply = Type.Object(
  {
    data: Type.Object(
      {
        statusCode: StatusCode,
        response: Response,
        errorMessage: ErrorMessage,
        durationMs: Type.Integer({ description: 'Duration of the attempt in milliseconds.' }),
      },
      { title: 'TestDelivery', example: { statusCode: 200, response: 'ok', errorMessage: null, durationMs: 84 } },
    ),
  },
  { description: "The receiver's answer." },
)

const PAGE = { defaultSize: MAX_LOG_ROWS, maxSize: MAX_LOG_ROWS }
const LogQuery = Type.Object({
  ...beforeQuery(PAGE),
  status: Type.Optional(
    Type.Enum(['delivered', 'failed', 'dead'], {
      description: 'Only attempts with this outcome; `dead` means the last attempts of dead-lettered deliveries.',
    }),
  ),
})

const Redeliver = Type.Object(
  {
    since: instant('Start of the time range.'),
    until: Type.Optional(instant('End of the time range, by default now.')),
    onlyDeadLettered: Type.Optional(Type.Boolean({ description: 'Excludes successful deliveries.' })),
    dryRun: Type.Optional(Type.Boolean({ description: 'Only counts the deliveries, without enqueueing any.' })),
  },
  { title: 'Redelivery', example: { since: '2026-03-01T00:00:00Z', onlyDeadLettered: true } },
)

const Redelivered = Type.Object(
  {
    success: Type.Literal(true),
    count: Type.Integer({ description: 'Number of deliveries found.' }),
  },
  { description: 'The deliveries are enqueued again.', example: { success: true, count: 12 } },
)

/** Serves delivery logs and redelivery (spec: Webhook delivery log row; decisions: section 10). */
export function deliveryLogRoutes(deps: DeliveryLogRoutesDeps): FastifyPluginAsyncTypebox {
  const config = { permissions: ['WhatsApp'], roles: ['developer'] } as const
  // Receivers have 10 s; long ranges take time.
  const asking = { ...config, takesLong: true }

  return async (app) => {
    app.get(
      `${PATH}/logs`,
      {
        config: { ...config, errors: ['validation_error'] },
        schema: {
          tags,
          operationId: 'listDeliveryAttempts',
          summary: 'List delivery attempts',
          description: "Newest first. Pass a page's last attempt id as `before` to reach all kept attempts.",
          params: ById,
          querystring: LogQuery,
          response: { 200: Type.Array(LogReply, { description: 'One page of delivery attempts.' }) },
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
        config: { ...asking, errors: ['send_outcome_unknown'] },
        schema: {
          tags,
          operationId: 'testRegistration',
          summary: 'Send a test delivery',
          description: "Sends a sample envelope at once and returns the receiver's answer.",
          params: ById,
          response: { 200: TestReply },
        },
      },
      async (request, reply) => {
        if (request.idempotency?.progress) throw asFinal(testOutcomeUnknown())
        const outcome = await testRegistration(deps, request.caller.companyId, parseId(request.params.id), () =>
          recordKeyProgress(deps.db, request, { isStarted: true }),
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
          summary: 'Redeliver a delivery',
          description: 'Enqueues the delivery again with the same bytes and delivery id.',
          params: Type.Object({ ...ById.properties, logId: pathId('DeliveryAttemptId', 'Attempt id.') }),
          response: { 200: Success },
        },
      },
      async (request, reply) => {
        const { id, logId } = request.params
        const answer = { success: true as const }
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
          summary: 'Redeliver a time range',
          description:
            'Enqueues finished deliveries again with the same bytes and delivery ids, up to 500 a second, and returns their number. Deliveries waiting for an earlier call are not enqueued twice.',
          params: ById,
          body: Redeliver,
          response: { 200: Redelivered },
        },
      },
      async (request, reply) => {
        const { companyId } = request.caller
        const id = parseId(request.params.id)
        const range = parseRedeliveryRange(request.body, deps.clock.now())
        if (request.body.dryRun) {
          const answer = { success: true as const, count: await countRange(deps, companyId, id, range) }
          await completeKey(deps.db, request, reply, 200, answer)
          return answer
        }
        const toAnswer = (count: number) => ({ success: true as const, count })
        const count = await redeliverRange(deps, companyId, id, range, (tx, found) =>
          completeKey(tx, request, reply, 200, toAnswer(found)),
        )
        return toAnswer(count)
      },
    )
  }
}

const toLogReply = ({ body, ...log }: DeliveryLog) => ({
  ...log,
  payload: body,
  sentAt: log.sentAt.toISOString(),
  createdAt: log.createdAt.toISOString(),
})

/** Splices in the stored JSON: parsing would be slow and change long numbers. */
const serializeLogs = (logs: ReturnType<typeof toLogReply>[]): string =>
  `[${logs.map(({ payload, ...rest }) => `{"payload":${payload},${JSON.stringify(rest).slice(1)}`).join(',')}]`
