import type { FastifyInstance } from 'fastify'
import type { Db } from '../../db/connect.ts'
import { renewKeys } from './idempotency-store.ts'

/** Three renewals per lease. */
const RENEW_EVERY_MS = 4_000

type Running = { readonly companyId: number; readonly id: number | null }

export function createRunning(app: FastifyInstance, db: Db) {
  // Not a `Set`, as in src/http/server/answers/answers.ts.
  const running: Running[] = []
  const renew = async () => {
    const reserved = running.flatMap(({ companyId, id }) => (id === null ? [] : [{ companyId, id }]))
    if (reserved.length === 0) return
    await renewKeys(db, reserved).catch((error) => app.log.error({ reason: String(error) }, 'idempotency.not_renewed'))
  }
  const timer = setInterval(renew, RENEW_EVERY_MS).unref()
  app.addHook('onClose', () => clearInterval(timer))
  return {
    during: async <T>(reservation: Running, work: () => Promise<T>): Promise<T> => {
      running.push(reservation)
      try {
        return await work()
      } finally {
        running.splice(running.lastIndexOf(reservation), 1)
      }
    },
  }
}
