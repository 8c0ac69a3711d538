import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { createTestDatabase } from '../../test/database.ts'
import { writeUnmirrored } from '../../test/run/mirrors.ts'
import { createCompany } from '../../test/world.ts'
import { type AccountEvent, EVENTS_PER_HOUR, listAccountEvents, recordAccountEvents } from './account-event-store.ts'

const { db } = await createTestDatabase({ mirrors: true })

const event = (companyId: number, text: string): AccountEvent => ({
  companyId,
  wabaAccountId: 'WABA',
  senderId: null,
  field: 'account_update',
  event: 'ACCOUNT_RESTRICTION',
  severity: 'critical',
  details: { text },
  digest: createHash('sha256').update(text).digest(),
  occurredAt: new Date('2026-11-21T12:00:00Z'),
})
const page = { before: undefined, limit: 10 }

test('an event is listed for its company, newest first, and page by page', async () => {
  const [companyId, other] = [await createCompany(db), await createCompany(db)]
  await recordAccountEvents(db, [event(companyId, 'one'), event(companyId, 'two'), event(other, 'three')])
  const listed = await listAccountEvents(db, companyId, page)
  expect(listed.map(({ details }) => details)).toEqual([{ text: 'two' }, { text: 'one' }])
  const rest = await listAccountEvents(db, companyId, { before: listed[0]!.id, limit: 10 })
  expect(rest.map(({ details }) => details)).toEqual([{ text: 'one' }])
})

test('a repeated event adds no row, also within one batch', async () => {
  const companyId = await createCompany(db)
  const [one, two] = [event(companyId, 'one'), event(companyId, 'two')]
  expect(await recordAccountEvents(db, [one, one])).toEqual([one])
  expect(await recordAccountEvents(db, [one, two])).toEqual([two])
  expect(await listAccountEvents(db, companyId, page)).toHaveLength(2)
})

test('a company keeps a bounded number of events of an hour', async () => {
  const companyId = await createCompany(db)
  await writeUnmirrored(
    db,
    (tx) => tx`
      insert into account_events (company_id, field, severity, digest)
      select ${companyId}, 'calls', 'info', decode(md5(n::text), 'hex') from generate_series(1, ${EVENTS_PER_HOUR}) as n
    `,
  )
  expect(await recordAccountEvents(db, [event(companyId, 'late')])).toEqual([])
})
