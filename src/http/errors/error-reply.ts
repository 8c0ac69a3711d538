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
import { contentTypesOf, InvalidRequest } from '../body/input.ts'
import type { RequestFault } from './fault.ts'
import { withOwnFaults } from './value-faults.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Replaces the general validation error; undefined keeps it. */
    onInvalid?: (faults: readonly RequestFault[], body: unknown) => AppError | undefined
    onFailure?: () => AppError
  }
  interface FastifyRequest {
    refusal: AppError | undefined
  }
}

export const ERROR_CODE_HEADER = 'x-error-code'

/** Answers every error (spec: Errors). Responses must never contain a stack, SQL or secrets. */
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
        // Serialized here to bypass the route's response schema.
        .send(JSON.stringify(refusal.body))
    )
  })
}

async function toRefusal(error: unknown, request: FastifyRequest): Promise<AppError> {
  const explained = await explainError(error, request)
  return explained instanceof AppError ? explained : unforeseen(error, request)
}

/** Returns the error that a caller gets; unexpected errors as they are. */
export async function explainError(error: unknown, request: FastifyRequest): Promise<unknown> {
  // Fastify adds a status to errors of the body stream.
  if (error instanceof AppError) return error
  if (error instanceof InvalidRequest) return toInvalid(error, request)
  return fromServer(error, request) ?? error
}

/** 400 if a member is missing or excluded, else 422 (decisions: Statuses). */
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

function messageOf(faults: readonly RequestFault[], refused: AppError): string {
  const combined = faults.filter(({ kind, keyword }) => kind === 'shape' && keyword === 'own')
  if (combined.length === 0) return textOf(refused)
  return combined.map(({ path, message }) => `${path} ${message}`).join('; ')
}

const textOf = ({ body }: AppError): string =>
  'message' in body ? body.message : typeof body.error === 'string' ? body.error : body.error.message

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

/** Returns the loggable parts of an error. Must not include `details`, which repeats row values. */
export function describe(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { message: 'A value other than an Error was thrown' }
  const cause = error.cause instanceof Error ? { cause: error.cause.message } : {}
  return {
    type: error.name,
    message: error.message,
    stack: error.stack,
    ...('code' in error && { code: error.code }),
    ...cause,
  }
}
