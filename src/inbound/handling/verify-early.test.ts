import { expect, test } from 'vitest'
import { createTestDatabase } from '../../../test/database.ts'
import { createTwins } from '../../../test/twins.ts'
import type { StoredEvent } from '../event-store.ts'
import { createProof } from './body-reader.ts'
import { type RoutedSender, verifyEarly } from './route-items.ts'

const { db } = await createTestDatabase({ mirrors: true })

const AT = new Date('2026-01-02T00:00:00Z')
const BODY = Buffer.from('{}')

/** An event received before its number was connected with a secret. */
const early = (companyId: number, senderId: number, eventId: number, secret: string) => ({
  receivedAt: AT,
  event: {
    id: eventId,
    body: BODY,
    isChecked: false,
    needsProof: false,
    ...createProof(BODY, { signature: null, secret }),
  } as StoredEvent,
  item: { route: { by: 'sender' as const, phoneNumberId: 'PN' } },
  sender: { companyId, id: senderId, proofUntil: new Date(AT.getTime() + 1_000) } as RoutedSender,
})

test('an early event proves the secrets of its own company, though another knows a sender of the same id', async () => {
  const { companyId, twinId, senderId } = await createTwins(db)
  await db`update senders set webhook_secret = 'of ' || company_id where company_id in (${companyId}, ${twinId})`
  const own = [companyId, twinId].map((id, place) => early(id, senderId, place, `of ${id}`))
  const crossed = [early(companyId, senderId, 2, `of ${twinId}`), early(twinId, senderId, 3, `of ${companyId}`)]

  const { taken, unverified } = await verifyEarly(db, (sealed) => sealed, [...own, ...crossed])
  expect(taken).toEqual(own)
  expect(unverified).toEqual(crossed)
})
