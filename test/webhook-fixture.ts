import { createHmac, randomUUID } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import type { Db, Pool } from '../src/db/connect.ts'
import { completeJobs } from '../src/queue/job-store.ts'
import type { Cipher } from '../src/secrets/secrets.ts'
import type { DeliveryClaim } from '../src/webhooks/deliveries/claim-deliveries.ts'
import {
  type AttemptRecord,
  completeAttempts,
  DELIVERIES,
  type DeliveryRef,
  type HeldDelivery,
  type NewEnvelope,
  type StartedAttempt,
  startAttempts,
} from '../src/webhooks/deliveries/delivery-store.ts'
import {
  insertRegistration,
  type NewRegistration,
  type RegistrationRow,
} from '../src/webhooks/registrations/registration-store.ts'
import { createTestKey } from './api.ts'

export const EVENT = 'whatsapp.message.received'

/** Reversible and visibly not clear text; the real cipher has tests of its own. */
export const testCipher: Pick<Cipher, 'encrypt' | 'decrypt'> = {
  encrypt: (clear) => `sealed:${Buffer.from(clear).toString('base64')}`,
  decrypt: (stored) => Buffer.from(stored.slice('sealed:'.length), 'base64').toString(),
}

export async function createCompany(db: Db, name = 'Acme'): Promise<number> {
  const [row] = await db<
    [{ id: number }]
  >`insert into companies (name, rate_limit_per_minute) values (${name}, 100000) returning id`
  return row.id
}

/** A claim of one batch of at most so many deliveries, with no lane wide. */
export const claimRequest = (batch: number): DeliveryClaim => ({
  ...{ batches: 1, afterLane: '', leaseMs: 15_000 },
  wide: { lanes: new Set(), batch, batches: 1 },
  narrow: { batch, ofLane: 1_000, all: 10_000 },
  laneRooms: new Map(),
})

export const register = (db: Db, companyId: number, changes: Partial<NewRegistration> = {}): Promise<RegistrationRow> =>
  insertRegistration(db, companyId, {
    name: 'Receiver',
    url: 'https://receiver.example/',
    events: [EVENT],
    channelIds: null,
    method: 'POST',
    staticHeaders: null,
    secret: null,
    ...changes,
  })

export const envelope = (companyId: number, wamid: string, body = `{"wamid":"${wamid}"}`): NewEnvelope => ({
  companyId,
  event: EVENT,
  eventId: wamid,
  messageId: null,
  conversationId: null,
  channelIds: null,
  body,
})

export const statusOf = async (db: Db, { companyId, deliveryId }: DeliveryRef) => {
  const [row] = await db<[{ status: string; attempts: number; round: number }]>`
    select status, attempts, round
    from deliveries
    where company_id = ${companyId} and id = ${deliveryId}
  `
  return row
}

/** Leases pending deliveries, even leased ones, as a claim does. */
export async function hold<Ref extends DeliveryRef>(
  db: Db,
  deliveries: readonly Ref[],
): Promise<(Ref & HeldDelivery)[]> {
  const claimId = randomUUID()
  for (const { companyId, deliveryId } of deliveries) {
    await db`
      update deliveries set claim_id = ${claimId}, lease_until = now() + interval '15 s'
      where company_id = ${companyId} and id = ${deliveryId} and status = 'pending'
    `
  }
  return deliveries.map((delivery) => ({ ...delivery, claimId }))
}

/** Starts attempts as a worker does that holds the deliveries; it finishes those that have none to make. */
export async function startHeld(db: Db, deliveries: readonly DeliveryRef[]): Promise<StartedAttempt[]> {
  const held = await hold(db, deliveries)
  const started = await startAttempts(db, held)
  const others = held.filter(({ deliveryId }) => started.every((one) => one.deliveryId !== deliveryId))
  await completeJobs(
    db,
    others.map(({ deliveryId: id, claimId }) => ({ id, claimId })),
    DELIVERIES,
  )
  return started
}

/** Completes attempts as a worker does that holds the deliveries. */
export async function completeHeld(db: Db, records: readonly AttemptRecord[]): Promise<void> {
  const completions = (await hold(db, records)).map(({ claimId, ...record }) => ({
    claim: { claimId },
    record,
    afterMs: record.next instanceof Date ? 0 : undefined,
  }))
  await completeAttempts(db, completions)
}

/** The specification's signature, computed as a receiver does. */
export const signatureOf = (secret: string, body: string | Buffer): string =>
  createHmac('sha256', secret).update(body).digest('hex')

/** Calls routes of the API as a company, each with a key of its own. */
export function createCaller(db: Pool) {
  const keys = new Map<number, Promise<Record<string, string>>>()
  const headersOf = (companyId: number) => {
    const cached = keys.get(companyId) ?? createTestKey(db, { companyId }).then(({ headers }) => headers)
    keys.set(companyId, cached)
    return cached
  }
  return async (
    app: FastifyInstance,
    companyId: number,
    method: 'GET' | 'POST' | 'PUT' | 'DELETE',
    url: string,
    body?: object,
  ) =>
    await app.inject({
      method,
      url,
      headers: await headersOf(companyId),
      ...(body !== undefined && { payload: body }),
    })
}
