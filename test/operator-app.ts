import { randomBytes } from 'node:crypto'
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import { Ajv } from 'ajv'
import Fastify, { type FastifyInstance } from 'fastify'
import { fixedClock } from '../src/clock.ts'
import type { Db, Pool } from '../src/db/connect.ts'
import { AppError, badRequest, internalError, validationError } from '../src/errors.ts'
import type { Caller } from '../src/http/caller.ts'
import type { OperatorDeps } from '../src/operator/operator.ts'
import { operatorRoutes } from '../src/operator/operator-routes.ts'
import type { Cipher, SenderRecord } from '../src/senders/sender.ts'
import { senderRoutes } from '../src/senders/sender-routes.ts'

/** A stand-in for the cipher: what it seals shows nothing of the secret, and no two seals are alike. */
export const testCipher: Cipher = {
  encrypt: (text) => `sealed:${randomBytes(8).toString('hex')}:${masked(Buffer.from(text)).toString('base64')}`,
  decrypt: (sealed) => masked(Buffer.from(sealed.slice(sealed.lastIndexOf(':') + 1), 'base64')).toString(),
}

const masked = (bytes: Buffer): Buffer => Buffer.from(bytes.map((byte) => byte ^ 0x5a))

/** Lists need a vault and jobs: test/contact-import.test.ts has them. */
const notHere = async () => {
  throw new Error('There are no imports here')
}

export type Told = { keys: string[]; senders: number[]; connected: SenderRecord[] }

/** Operator deps that write down what they were told. */
export function operatorDeps(db: Pool): OperatorDeps & { told: Told } {
  const told: Told = { keys: [], senders: [], connected: [] }
  return {
    db,
    clock: fixedClock('2026-03-01T12:00:00Z'),
    cipher: testCipher,
    imports: { take: notHere, read: notHere, work: () => ({ stop: notHere }) },
    apiKeyPrefix: 'PARLEY',
    onKeyChanged: (clientId) => told.keys.push(clientId),
    onSendersChanged: (companyId) => told.senders.push(companyId),
    providers: {},
    onUnchecked: () => {},
    webhookGuide: () => ({
      url: 'https://api.example/public/v1/webhooks/whatsapp',
      verifyToken: null,
      steps: 'Enter it.',
    }),
    onEventsStored: () => {},
    onSenderConnected: async (_tx: Db, _companyId, sender) => {
      told.connected.push(sender)
    },
    afterSenderConnected: async () => {},
    syncTemplates: async (companyId) => companyId + 1000,
    told,
  }
}

/** The operator's routes and the senders list behind the smallest server that maps errors. */
export function operatorApp(deps: OperatorDeps, callerCompanyId = 0): FastifyInstance {
  const app = Fastify().withTypeProvider<TypeBoxTypeProvider>()
  const ajv = new Ajv({ allErrors: true, strict: false })
  app.setValidatorCompiler(({ schema, httpPart }) => (httpPart === 'body' ? ajv.compile(schema) : () => true))
  app.decorateRequest('caller')
  app.addHook('onRequest', async (request) => {
    request.caller = { companyId: callerCompanyId } as Caller
  })
  app.setErrorHandler((error: Error & { validation?: AjvFault[] }, _request, reply) => {
    const refusal = error instanceof AppError ? error : error.validation ? refusalOf(error.validation) : internalError()
    if (refusal.status === 500) console.error(error)
    return reply
      .code(refusal.status)
      .headers(refusal.headers)
      .type('application/json')
      .send(JSON.stringify(refusal.body))
  })
  app.register(operatorRoutes(deps))
  app.register(senderRoutes(deps))
  return app
}

type AjvFault = { instancePath: string; keyword: string; message?: string; params?: { missingProperty?: string } }

function refusalOf(faults: AjvFault[]): AppError {
  const fields = faults.map((fault) => ({
    path: `${fault.instancePath}/${fault.params?.missingProperty ?? ''}`
      .slice(1)
      .replaceAll('/', '.')
      .replace(/\.$/, ''),
    message: fault.message ?? 'is not valid',
  }))
  const absent = faults.some((fault) => fault.keyword === 'required')
  return absent ? badRequest('Required fields are absent', fields) : validationError(fields)
}
