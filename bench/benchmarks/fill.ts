import { type Db, sql } from '../../src/db/connect.ts'
import { createSender, register } from '../journeys.ts'
import type { Company, Stage } from '../stage.ts'

/** How much a company has. All conversations but the first have equally many messages; one message in twenty is of the first. */
export type Size = { messages: number; contacts: number; conversations: number; deliveries: number }
/** `chatId`: of the long conversation, which has so many `messages`. */
export type Filled = Company & { chatId: number; registrationId: number; messages: number; size: Size }

/** Over how many months and days messages and deliveries are spread, the present one last. */
const MONTHS = 12
const DAYS = 30
const LONG = 20
/** The first number that the load process writes from. */
const FIRST_PHONE = 393_310_000_000

/** Fills a company by SQL, since it would take long by the front door. `url`: its receiver. */
export async function fillCompany(stage: Stage, url: string, size: Size, say: (text: string) => void): Promise<Filled> {
  const { db } = stage
  const company = await createSender(stage, 8)
  const registrationId = await register(stage, company, { url })
  say(`filling in ${JSON.stringify(size)}`)
  await fillContacts(stage, company, size.contacts)
  const chatId = await fillConversations(db, company, size)
  const filled = { ...company, chatId, registrationId, messages: size.messages / LONG, size }
  for (let month = 0; month < MONTHS; month += 1) await fillMonth(db, filled, month)
  await db`select setval('messages_id_seq', ${size.messages * 2})`
  await db`select make_delivery_days(0, ${DAYS})`
  for (let day = 0; day < DAYS; day += 1) await fillDay(db, filled, day)
  await db`select setval('delivery_ids', ${size.deliveries * 2})`
  await db`vacuum analyze`
  return filled
}

/** Contacts only, all called Ada Lovelace and a number. Their indexes are built afterwards: kept, they take most of the time. */
export async function fillContacts({ db }: Stage, { companyId }: Company, contacts: number): Promise<void> {
  const indexes = await db<{ name: string; definition: string }[]>`
    select indexrelid::regclass::text as name, pg_get_indexdef(indexrelid) as definition
    from pg_index
    where indrelid = 'contacts'::regclass and not indisprimary
  `
  await db.begin(async (tx) => {
    await tx`set local maintenance_work_mem = '1GB'`
    for (const { name } of indexes) await tx.unsafe(`drop index ${name}`)
    await tx`
      insert into contacts (
        company_id, email, email_key, phone, phone_identity, first_name, last_name, source, source_type, search_text,
        created_at, updated_at
      )
      select
        ${companyId}::bigint, email, email, phone, phone, 'Ada', 'Lovelace ' || place, 'API', 'service',
        concat_ws(chr(10), email, phone, 'ada lovelace ' || place), at, at
      from generate_series(0, ${contacts - 1}::integer) as place
      cross join lateral (select (${FIRST_PHONE}::bigint + place)::text as phone) as number
      cross join lateral (
        select 'p' || phone || '@example.com' as email, now() - (${contacts}::integer - place) * interval '1 second' as at
      ) as own
    `
    for (const { definition } of indexes) await tx.unsafe(definition)
    await tx`insert into contact_counts (company_id, living) values (${companyId}, ${contacts})`
  })
  await db`vacuum analyze contacts`
}

/** A customer and a conversation of each of the first contacts. Returns the id of the first conversation. */
const fillConversations = (db: Stage['db'], { companyId, senders }: Company, size: Size): Promise<number> =>
  withoutTriggers(db, async (tx) => {
    await tx`
      insert into customers (company_id, contact_id, phone)
      select company_id, id, phone from contacts where company_id = ${companyId} order by id limit ${size.conversations}
    `
    await tx`
      insert into customer_identities (company_id, customer_id, identity, reported_at)
      select company_id, id, phone, now() from customers where company_id = ${companyId}
    `
    await tx`
      with conversation as (
        insert into conversations (
          company_id, sender_id, customer_id, profile_name, message_count, last_text, last_direction, last_message_at,
          last_inbound_at, created_at, updated_at
        )
        select
          company_id, (${senders.map(({ id }) => id)}::bigint[])[phone::bigint % ${senders.length} + 1], id, 'Ada',
          ${(size.messages - size.messages / LONG) / (size.conversations - 1)}, 'Is my order ready?', 'inbound', at, at,
          now() - make_interval(months => ${MONTHS}), at
        from customers
        cross join lateral (select now() - (id % 86400) * interval '1 second' as at) as own
        where company_id = ${companyId}
        returning company_id, id, sender_id, last_message_at
      )
      insert into conversation_activity (company_id, conversation_id, active_at, sender_id)
      select company_id, id, last_message_at, sender_id from conversation
    `
    await tx`insert into conversation_counts (company_id, total) values (${companyId}, ${size.conversations})`
    const [chat] = await tx<[{ id: number }]>`
      update conversations
      set message_count = ${size.messages / LONG}
      where (company_id, id) = (select company_id, min(id) from conversations where company_id = ${companyId} group by 1)
      returning id
    `
    return chat.id
  })

/** The messages of a month: one in twenty is of the long conversation, the others are of the others by turns. */
async function fillMonth(db: Stage['db'], { companyId, chatId, size }: Filled, month: number): Promise<void> {
  const perMonth = Math.ceil(size.messages / MONTHS)
  const [first, last] = [month * perMonth, Math.min((month + 1) * perMonth, size.messages) - 1]
  const start = sql`date_trunc('month', now(), 'UTC') - make_interval(months => ${MONTHS - 1 - month})`
  await db`select make_message_month((message_id_floor(${start}) / 1000000000000)::integer)`
  await withoutTriggers(
    db,
    (tx) => tx`
      insert into messages (
        company_id, id, conversation_id, seq, direction, type, text, status, wamid, sent_at, created_at, updated_at
      )
      select
        ${companyId}::bigint, message_id_floor(at) + place + 1,
        ${chatId}::bigint + case when is_long then 0 else 1 + other % ${size.conversations - 1}::bigint end,
        1 + case when is_long then place / ${LONG} else other / ${size.conversations - 1}::bigint end,
        case place % 2 when 0 then 'inbound' else 'outbound' end, 'text',
        'Is my order ' || place || ' ready? I would like to fetch it today.',
        case place % 2 when 0 then 'received' else 'read' end, 'wamid.HBgMMzkz' || md5(place::text) || 'FQIAERgS', at, at, at
      from generate_series(${first}::bigint, ${last}::bigint) as place
      cross join lateral (
        select
          place % ${LONG} = 0 as is_long, place - place / ${LONG} - 1 as other,
          least(${start} + (place - ${first}::bigint) * interval '1 second', now()) as at
      ) as own
    `,
  )
}

/** The deliveries of a day, each with a body of its own. */
async function fillDay(db: Stage['db'], { companyId, registrationId, size }: Filled, day: number): Promise<void> {
  const perDay = Math.ceil(size.deliveries / DAYS)
  await withoutTriggers(
    db,
    (tx) => tx`
      with delivery as (
        insert into deliveries (
          company_id, id, day, registration_id, event, event_id, status, attempts, due_at, created_at, status_code, response,
          duration_ms, sent_at, logged_at
        )
        select
          ${companyId}::bigint, day * 1000000000::bigint + place + 1, day, ${registrationId}::bigint, 'whatsapp.message.received',
          'wamid.HBgMMzkz' || md5(place::text) || 'FQIAERgS', 'delivered', 1, at, at, 200, 'ok', 3, at, at
        from generate_series(${day * perDay}::bigint, ${(day + 1) * perDay - 1}::bigint) as place
        cross join (select (now() at time zone 'UTC')::date - date '1970-01-01' - ${DAYS - 1 - day}::integer as day) as today
        cross join lateral (select timestamptz 'epoch' + day * interval '1 day' as at) as own
        returning company_id, id, day, event, event_id, created_at
      )
      insert into envelopes (company_id, day, event_id, event, body, delivery_ids, created_at)
      select company_id, day, event_id, event, '{"event":"' || id || repeat('x', 700) || '"}', array[id], created_at
      from delivery
    `,
  )
}

/** The rows fit each other: checks of foreign keys, planned on empty tables, would read all of them for each. */
const withoutTriggers = <T>(db: Stage['db'], fill: (tx: Db) => PromiseLike<T>): Promise<T> =>
  db.begin(async (tx) => {
    await tx`set local session_replication_role = replica`
    return await fill(tx)
  })
