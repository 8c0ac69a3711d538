import { expect, test } from 'vitest'
import { createTestDatabase } from '../../test/database.ts'
import { createTwins, keepsRows } from '../../test/twins.ts'
import {
  readArchivedContact,
  readConsentRows,
  readConversationRows,
  readDailyLimitRows,
  readDeliveryRows,
  readEmailRows,
  readMessageRows,
  readRefusalRows,
} from './archive-store.ts'
import { completeErasure, findErasure, insertErasure, recordFirstPass } from './erasure-store.ts'

// The mirror of the company has every row of the archive under the same ids.
const { db } = await createTestDatabase({ mirrors: true })
const AT = new Date('2026-01-03T00:00:00Z')
const [PHONE, ADDRESS] = ['39333', 'ada@example.com']

async function createPerson() {
  const { companyId } = await createTwins(db, {
    contacts: [[1, PHONE, PHONE]],
    customers: [[1, 1, PHONE]],
    identities: [
      [PHONE, 1],
      ['IT.1', 1],
    ],
    conversations: [[1, 1, 'open', 'IT.1']],
  })
  await db`update contacts set first_name = 'Ada' where company_id = ${companyId}`
  return companyId
}

const parse = (rows: readonly { row: string }[]) => rows.map(({ row }) => JSON.parse(row))

test('an archive has the contact with its consents, opt-outs, refused rows and limits', async () => {
  const companyId = await createPerson()
  await db`
    insert into consents (company_id, contact_id, channel, identity, value, said_at, source)
    values
      (${companyId}, 1, 'email', 'mailto:ada@example.com', true, now(), 'one'),
      (${companyId}, null, 'whatsapp', keyed_hash(${companyId}, ${PHONE}), false, now(), 'two'),
      (${companyId}, null, 'whatsapp', '39777', false, now(), 'of another person')
  `
  await db`
    insert into contact_imports (company_id, id, format, columns, size_bytes, rows, read_bytes, read_lines, status)
    values (${companyId}, 1, 'csv', '{phone}', 1, 1, 1, 1, 'completed')
  `
  await db`insert into contact_import_refusals values (${companyId}, 1, 2, 'is wrong', ${[PHONE]})`
  await db`insert into daily_limits (company_id, scope, used) values (${companyId}, 'sender:1', 1)`
  await db`
    insert into daily_limit_entries (company_id, scope, customer_id, message_id, counted_at)
    values (${companyId}, 'sender:1', 1, 1, ${AT})
  `
  const contact = JSON.parse((await readArchivedContact(db, companyId, 1)) ?? '{}')
  expect(contact).toMatchObject({ first_name: 'Ada', identities: [PHONE, 'IT.1'] })
  expect(parse(await readConsentRows(db, companyId, 1, [PHONE], 0, 10))).toMatchObject([
    { source: 'one', identity: 'mailto:ada@example.com' },
    { source: 'two', identity: PHONE },
  ])
  const refused = await readRefusalRows(db, companyId, [PHONE], { importId: 0, line: 0 }, 10)
  expect(refused?.rows).toHaveLength(1)
  expect(parse(await readDailyLimitRows(db, companyId, 1))).toMatchObject([{ scope: 'sender:1', customer_id: 1 }])
})

test('an archive has each conversation and message once, with what belongs to it', async () => {
  const companyId = await createPerson()
  await db`
    insert into messages (company_id, id, conversation_id, seq, direction, type, text, media, status, wamid)
    overriding system value
    values (${companyId}, 1, 1, 1, 'inbound', 'image', 'Hello', '{"filename": "a.png"}', 'received', 'w1')
  `
  await db`insert into message_status_events (company_id, message_id, status) values (${companyId}, 1, 'sent')`
  await db`
    insert into message_reactions (company_id, wamid, target_wamid, emoji, occurred_at)
    values (${companyId}, 'r1', 'w1', 'A', ${AT})
  `
  await db`
    insert into message_changes (company_id, wamid, sender_id, direction, writers, target_wamid, kind, occurred_at)
    values (${companyId}, 'c1', 1, 'inbound', '{}', 'w1', 'revoke', ${AT})
  `
  await db`
    insert into media (company_id, message_id, sender_id, provider_media_id, storage_key)
    values (${companyId}, 1, 1, 'media', 'key')
  `
  expect(parse(await readConversationRows(db, companyId, [1]))).toMatchObject([
    { phone: PHONE, identities: [PHONE, 'IT.1'] },
  ])
  expect(parse(await readMessageRows(db, companyId, [1]))).toMatchObject([
    {
      text: 'Hello',
      statuses: [{ status: 'sent' }],
      reactions: [{ emoji: 'A' }],
      changes: [{ kind: 'revoke' }],
      media: { filename: 'a.png', state: 'pending' },
    },
  ])
})

test('an archive has each delivery once, with the attempts of the company', async () => {
  const companyId = await createPerson()
  const [delivery] = await db<{ id: number; day: number }[]>`
    insert into deliveries (company_id, registration_id, event, event_id, status)
    values (${companyId}, 1, 'whatsapp.message.received', 'w1', 'dead')
    returning id, day
  `
  await db`
    insert into envelopes (company_id, day, event, event_id, body, delivery_ids)
    values (${companyId}, ${delivery!.day}, 'whatsapp.message.received', 'w1', '{"text":"Hello"}', ${[delivery!.id]})
  `
  await db`
    insert into delivery_attempts (
      company_id, day, registration_id, delivery_id, round, attempt, response, duration_ms, sent_at
    )
    values (${companyId}, ${delivery!.day}, 1, ${delivery!.id}, 1, 1, 'no', 1, ${AT})
  `
  expect(
    parse(
      await readDeliveryRows(db, companyId, [
        { event: 'whatsapp.message.received', eventId: 'w1', day: delivery!.day },
      ]),
    ),
  ).toMatchObject([{ status: 'dead', payload: { text: 'Hello' }, attempts: [{ response: 'no' }] }])
})

test('an archive has each mail once, with its contents, links and clicks', async () => {
  const companyId = await createPerson()
  await db`
    insert into emails (company_id, id, uid, recipient, subject, message_id, secret, is_marketing, status)
    values (${companyId}, 1, 'eml_1', ${ADDRESS}, 'Hi', '<1@a>', sha256('secret'), false, 'sent')
  `
  await db`
    insert into email_contents (company_id, email_id, from_address, html, headers, track_opens, track_clicks)
    values (${companyId}, 1, 'shop@example.com', 'Hello', '{}', true, true)
  `
  await db`insert into email_links values (${companyId}, 1, '{https://example.com/}')`
  await db`insert into email_clicks (company_id, email_id, link, suspected_machine) values (${companyId}, 1, 1, false)`
  expect(parse(await readEmailRows(db, companyId, ADDRESS, 0, 10))).toMatchObject([
    { subject: 'Hi', content: { html: 'Hello' }, links: ['https://example.com/'], clicks: [{ link: 1 }] },
  ])
})

test('an erasure passes and ends in its company', async () => {
  const { companyId, twinId } = await createTwins(db, { contacts: [[1, PHONE, PHONE]] })
  for (const id of [companyId, twinId]) await insertErasure(db, id, 1, `of ${id}`)
  await keepsRows(db, twinId, () => recordFirstPass(db, companyId, 1))
  expect(await findErasure(db, companyId, 1)).toMatchObject({ subject: `of ${companyId}`, passes: 1 })
  await keepsRows(db, twinId, () => completeErasure(db, companyId, 1))
  expect(await findErasure(db, companyId, 1)).toMatchObject({ subject: null, passes: 2 })
})

test('an archive has a delivery whose message holds a NUL', async () => {
  const companyId = await createPerson()
  const [delivery] = await db<{ id: number; day: number }[]>`
    insert into deliveries (company_id, registration_id, event, event_id, status)
    values (${companyId}, 1, 'whatsapp.message.received', 'w2', 'dead')
    returning id, day
  `
  await db`
    insert into envelopes (company_id, day, event, event_id, body, delivery_ids)
    values (${companyId}, ${delivery!.day}, 'whatsapp.message.received', 'w2', ${JSON.stringify({ text: 'Hel\0lo' })}, ${[delivery!.id]})
  `
  expect(
    parse(
      await readDeliveryRows(db, companyId, [
        { event: 'whatsapp.message.received', eventId: 'w2', day: delivery!.day },
      ]),
    ),
  ).toMatchObject([{ payload: { text: 'Hel\0lo' } }])
})
