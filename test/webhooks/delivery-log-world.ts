import { afterAll } from 'vitest'
import { systemClock } from '../../src/platform/clock.ts'
import { createReceiverClient } from '../../src/webhooks/attempts/post.ts'
import { type DeliveryRef, enqueueDeliveries } from '../../src/webhooks/deliveries/delivery-store.ts'
import { deliveryLogRoutes } from '../../src/webhooks/deliveries/log/delivery-log-routes.ts'
import { createTestApi } from '../api.ts'
import { createTestDatabase } from '../database.ts'
import { completeHeld, createCaller, createCompany, envelope, startHeld, testCipher } from '../webhook-fixture.ts'

const PATH = '/public/v1/webhooks/registrations'

export const missing = { status: 404, body: { message: 'Webhook registration not found' } }

/** The routes of the delivery log, with a receiver client. */
export async function startDeliveryLogs() {
  const receiver = createReceiverClient({ allowPrivate: true })
  /** Pending deliveries visible at each worker wake-up. */
  const wakes: Promise<number>[] = []
  const { db } = await createTestDatabase({ mirrors: true })
  const callAs = createCaller(db)
  /** The company that calls, most often one of the test's own. */
  const own = { id: await createCompany(db) }
  const other = await createCompany(db, 'Other')
  const onEnqueued = () => {
    const pending = db`select from deliveries where company_id = ${own.id} and status = 'pending'`
    wakes.push(pending.then(({ length }) => length))
  }
  const deps = { db, cipher: testCipher, clock: systemClock, receiver, serviceName: 'Service', onEnqueued }
  const { app } = await createTestApi({ db, routes: (on) => void on.register(deliveryLogRoutes(deps)) })
  afterAll(async () => {
    await app.close()
    await receiver.close()
  })
  const inject = (method: 'GET' | 'POST', path: string, body?: object, company = own.id) => {
    wakes.length = 0
    return callAs(app, company, method, `${PATH}/${path}`, body)
  }
  const call = async (...request: Parameters<typeof inject>) => {
    const answer = await inject(...request)
    return { status: answer.statusCode, body: answer.json() }
  }
  /** Creates a delivery whose attempts have the given outcomes. */
  async function deliver(
    wamid: string,
    ends: ('failed' | 'delivered' | 'dead')[],
    body?: string,
  ): Promise<DeliveryRef> {
    const [enqueued] = await enqueueDeliveries(db, [envelope(own.id, wamid, body)])
    for (const end of ends) {
      const [started] = await startHeld(db, [enqueued!])
      const isDone = end === 'delivered'
      await completeHeld(db, [
        {
          ...started!,
          statusCode: isDone ? 200 : 500,
          response: isDone ? 'ok' : 'sorry',
          errorMessage: isDone ? null : 'the receiver answered 500',
          durationMs: 3,
          sentAt: new Date('2026-01-01T00:00:00Z'),
          next: end === 'failed' ? new Date() : end,
        },
      ])
    }
    const { deliveryId, registrationId } = enqueued!
    return { companyId: own.id, deliveryId, registrationId }
  }
  return { db, own, other, wakes, inject, call, deliver }
}
