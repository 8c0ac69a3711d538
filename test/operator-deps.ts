import { randomBytes } from 'node:crypto'
import { NO_EVENTS } from '../src/changes/record-change.ts'
import type { Db, Pool } from '../src/db/connect.ts'
import type { OperatorDeps } from '../src/operator/operator.ts'
import { operatorRoutes } from '../src/operator/operator-routes.ts'
import { fixedClock } from '../src/platform/clock.ts'
import { createCipher } from '../src/secrets/secrets.ts'
import type { SenderRecord } from '../src/senders/sender.ts'
import { eventReader } from '../src/wiring/events/event-reader.ts'
import { ADMIN_TOKEN, createTestApi } from './api.ts'

const cipher = createCipher([randomBytes(32).toString('base64')])

/** Lists need a blob store and jobs: test/contacts/contact-import.test.ts has them. */
const notHere = async () => {
  throw new Error('There are no imports here')
}

export type Reported = { keys: string[]; senders: number[]; connected: SenderRecord[] }

/** Operator deps that record what was reported to them. */
export function operatorDeps(db: Pool): OperatorDeps & { reported: Reported } {
  const reported: Reported = { keys: [], senders: [], connected: [] }
  return {
    db,
    clock: fixedClock('2026-03-01T12:00:00Z'),
    events: eventReader,
    cipher,
    recordEvents: NO_EVENTS,
    imports: { take: notHere, read: notHere, work: () => ({ stop: notHere }) },
    apiKeyPrefix: 'PARLEY',
    copyMedia: notHere,
    // Companies are moved by the command line: test/companies/move-company.test.ts.
    move: {
      db,
      cipher,
      blobStore: { put: notHere, open: notHere, has: notHere, remove: notHere },
      encryptionKeys: [],
      deliveryLogDays: 30,
    },
    createConsoleLink: undefined,
    onKeyChanged: (clientId) => reported.keys.push(clientId),
    onSendersChanged: (companyId) => reported.senders.push(companyId),
    providers: {},
    onUnchecked: () => {},
    webhookGuide: () => ({
      url: 'https://api.example/public/v1/webhooks/whatsapp',
      verifyToken: null,
      steps: 'Enter it.',
    }),
    onEventsStored: () => {},
    onSenderConnected: async (_tx: Db, _companyId, sender) => {
      reported.connected.push(sender)
    },
    afterSenderConnected: async () => {},
    syncTemplates: async (companyId) => companyId + 1000,
    reported,
  }
}

/** Calls to the operator's API through the real HTTP server. The caller closes it. */
export async function createOperatorApi(db: Pool, deps: OperatorDeps) {
  const routes = operatorRoutes(deps)
  const { app } = await createTestApi({ db, routes: async (server) => void (await server.register(routes)) })
  return {
    close: () => app.close(),
    call: async (method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE', path: string, payload?: object) => {
      const headers = { authorization: `Bearer ${ADMIN_TOKEN}` }
      const answer = await app.inject({ method, url: `/admin/v1${path}`, headers, ...(payload && { payload }) })
      return { status: answer.statusCode, body: answer.json(), text: answer.body }
    },
  }
}
