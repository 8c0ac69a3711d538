import type { FastifyError, FastifyInstance, FastifyRequest } from 'fastify'
import { isContention, isDatabaseDown, isSchemaChanged } from '../../db/pool/failure.ts'
import {
  AppError,
  badRequest,
  errorCodeOf,
  internalError,
  mediaStorageUnavailable,
  payloadTooLarge,
  serviceUnavailable,
  storageUnavailable,
  validationError,
} from '../../platform/errors.ts'
import { StorageFailure } from '../../platform/files/storage-failure.ts'
import { takesNoFiles } from '../../platform/files/writable-folder.ts'
import { contentTypesOf } from '../body/content-types.ts'
import type { RequestFault } from './fault.ts'
import { InvalidRequest } from './validate.ts'
import { withOwnFaults } from './value-faults.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** A refusal of the route's own for what does not fit its shape; undefined leaves it to the rule for all routes. */
    onInvalid?: (faults: readonly RequestFault[], body: unknown) => AppError | undefined
    /** The route's answer to an unexpected error. Absent: coded `internal_error`. */
    onFailure?: () => AppError
  }
  interface FastifyRequest {
    /** The refusal that was answered, for the hooks that run afterwards. */
    refusal: AppError | undefined
  }
}

/** The code of an error, on every answer that is one. */
export const ERROR_CODE_HEADER = 'x-error-code'

/** Answers every error, in one place (spec: Errors): no stack, SQL or secret is part of an answer. */
export function answerErrors(app: FastifyInstance): void {
  app.decorateRequest('refusal')
  app.setErrorHandler(async (error, request, reply) => {
    const refusal = await toRefusal(error, request)
    request.refusal = refusal
    return (
      reply
        .code(refusal.status)
        .headers(refusal.headers)
        .header(ERROR_CODE_HEADER, errorCodeOf(refusal.status, refusal.body))
        .type('application/json; charset=utf-8')
        // Written here, so that no route's response shape is asked about it.
        .send(JSON.stringify(refusal.body))
    )
  })
}

function toRefusal(error: unknown, request: FastifyRequest): AppError | Promise<AppError> {
  if (error instanceof AppError) return error
  if (error instanceof InvalidRequest) return toInvalid(error, request)
  return fromServer(error, request) ?? unforeseen(error, request)
}

/** 400 when something absent or excluded is among the faults, else 422 (decisions: Statuses). */
async function toInvalid(error: InvalidRequest, request: FastifyRequest): Promise<AppError> {
  const { onInvalid, valueFaults } = request.routeOptions.config
  const ofShape = error.listFaults()
  const faults = valueFaults && error.isBody ? await withOwnFaults(ofShape, request.body, valueFaults) : ofShape.faults
  const own = onInvalid?.(faults, request.body)
  if (own !== undefined) return own
  const fields = faults.map(({ path, message }) => ({ path, message }))
  const refused = validationError(fields)
  return faults.some(({ kind }) => kind === 'shape') ? badRequest(messageOf(faults, refused), fields) : refused
}

/** Combinations that exclude each other are explained; all else is in the details. */
function messageOf(faults: readonly RequestFault[], refused: AppError): string {
  const combined = faults.filter(({ kind, keyword }) => kind === 'shape' && keyword === 'own')
  if (combined.length === 0) return textOf(refused)
  return combined.map(({ path, message }) => `${path} ${message}`).join('; ')
}

const textOf = ({ body }: AppError): string =>
  'message' in body ? body.message : typeof body.error === 'string' ? body.error : body.error.message

/** Refusals by the HTTP server itself and its plugins, which carry a status of their own. */
function fromServer(error: unknown, request: FastifyRequest): AppError | undefined {
  if (!isServerError(error)) return undefined
  if (error.statusCode === 413) return payloadTooLarge(request.routeOptions.bodyLimit)
  if (error.statusCode === 415) return badRequest(`The Content-Type must be ${contentTypesOf(request)}`)
  if (error.statusCode >= 400 && error.statusCode < 500) return badRequest('The request could not be read')
  return undefined
}

const isServerError = (error: unknown): error is FastifyError & { statusCode: number } =>
  error instanceof Error && 'statusCode' in error && typeof error.statusCode === 'number'

function unforeseen(error: unknown, request: FastifyRequest): AppError {
  const { id: requestId, routeOptions } = request
  request.log.error({ requestId, err: describe(error), route: routeOptions.url }, 'request.failed')
  if (isDatabaseDown(error)) return serviceUnavailable('The service cannot reach its database: try again soon', 1)
  if (isContention(error)) return serviceUnavailable('Another request changed the same data: try again soon', 1)
  if (isSchemaChanged(error)) return serviceUnavailable('The service is being upgraded: try again soon', 1)
  if (takesNoFiles(error)) return storageUnavailable()
  if (error instanceof StorageFailure) return mediaStorageUnavailable()
  return routeOptions.config.onFailure?.() ?? internalError()
}

/** The members of an error that may be logged: never its details, which repeat the values of rows. */
export function describe(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { message: 'Something that is no error was thrown' }
  const cause = error.cause instanceof Error ? { cause: error.cause.message } : {}
  return {
    type: error.name,
    message: error.message,
    stack: error.stack,
    ...('code' in error && { code: error.code }),
    ...cause,
  }
}
