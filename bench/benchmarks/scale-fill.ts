import type { Db } from '../../src/db/connect.ts'
import { makeDeliveryDays } from '../../src/webhooks/deliveries/delivery-day-store.ts'
import { type Company, register, type Stage } from '../stage.ts'

/** How much a company has. All conversations but one have equally many messages. */
export type Size = { messages: number; contacts: number; conversations: number; deliveries: number }
/** `messages`: of the long conversation. */
export type Filled = Company & { chatId: number; registrationId: number; messages: number; size: Size }

/** Over how many months and days messages and deliveries are spread, the present one last. */
const MONTHS = 12
const DAYS = 30
/** The first number that the load process writes from. */
const FIRST_PHONE = 393_310_000_000
/** Of the messages, those of the one long conversation. */
const LONG = 20
const DELIVERED = 'whatsapp.message.received'
/** The length of the body of a text message's envelope. */
const ENVELOPE_FILL = 700

/** Fills a company by SQL, table by table and without indexes, which are built at the end of each. */
export async function fillCompany(
  stage: Stage,
  receiverUrl: string,
  size: Size,
  say: (text: string) => void,
): Promise<Filled> {
  const company = await stage.createCompany(8)
  await stage.operator('POST', `/companies/${company.companyId}/templates/sync`)
  const path = await register(stage, company, { url: `${receiverUrl}/0`, secret: 'a secret of the benchmark' })
  const registrationId = Number(path.split('/').at(-1))
  say(`filling in ${size.contacts.toLocaleString('en-US')} contacts`)
  await fillPeople(stage, company, size)
  say(`filling in ${size.messages.toLocaleString('en-US')} messages`)
  const chatId = await fillMessages(stage, company.companyId, size)
  say(`filling in ${size.deliveries.toLocaleString('en-US')} deliveries`)
  await fillDeliveries(stage, company.companyId, registrationId, size)
  return { ...company, chatId, registrationId, messages: size.messages / LONG, size }
}

async function fillPeople({ db }: Stage, { companyId, senders }: Company, size: Size): Promise<void> {
  const senderIds = senders.map(({ id }) => id)
  await withoutIndexes(
    db,
    'contacts',
    () => db`
    insert into contacts (
      company_id, email, email_key, phone, phone_identity, first_name, last_name, source, source_type, search_text,
      created_at, updated_at
    )
    select
      ${companyId}, 'p' || phone || '@example.com', 'p' || phone || '@example.com', phone, phone, 'Ada', 'Lovelace ' || place,
      'API', 'service', concat_ws(chr(10), 'p' || phone || '@example.com', phone, 'ada lovelace ' || place), at, at
    from generate_series(0, ${size.contacts - 1}::integer) as place
    cross join lateral (
      select (${FIRST_PHONE}::bigint + place)::text as phone, now() - (${size.contacts}::integer - place) * interval '1 second' as at
    ) as own
  `,
  )
  await db.begin(async (tx) => {
    // The rows fit each other: checks of foreign keys, planned on empty tables, would read all of them for each.
    await tx`set local session_replication_role = replica`
    await tx`insert into contact_counts (company_id, living) values (${companyId}, ${size.contacts})`
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
        company_id, (${senderIds}::bigint[])[phone::bigint % 8 + 1], id, 'Ada', ${(size.messages - size.messages / LONG) / (size.conversations - 1)},
        'Is my order ready?', 'inbound', at, at, now() - make_interval(months => ${MONTHS}), at
      from customers
      cross join lateral (select now() - (id % 86400) * interval '1 second' as at) as own
      where company_id = ${companyId}
      returning company_id, id, sender_id, last_message_at
    )
    insert into conversation_activity (company_id, conversation_id, active_at, sender_id)
    select company_id, id, last_message_at, sender_id from conversation
  `
    await tx`insert into conversation_counts (company_id, total) values (${companyId}, ${size.conversations})`
  })
  await db`analyze contacts, customers, customer_identities, conversations, conversation_activity`
}

/** Messages of all conversations alternate, and one in twenty is of the first conversation. Answers its id. */
async function fillMessages({ db }: Stage, companyId: number, size: Size): Promise<number> {
  const [chat] = await db<[{ id: number }]>`
    update conversations
    set message_count = ${size.messages / LONG}
    where (company_id, id) = (select company_id, min(id) from conversations where company_id = ${companyId} group by 1)
    returning id
  `
  const perMonth = Math.ceil(size.messages / MONTHS)
  for (let ago = MONTHS - 1; ago >= 0; ago -= 1) {
    const first = (MONTHS - 1 - ago) * perMonth
    await fillPartition(db, 'messages', 'month', ago, (tx, name) => [
      tx`
        insert into ${tx(name)} (
          company_id, id, conversation_id, seq, direction, type, text, status, wamid, sent_at, created_at, updated_at
        )
        select
          ${companyId}::bigint, message_id_floor(at) + place + 1, ${chat.id}::bigint + own.conversation, own.seq,
          case place % 2 when 0 then 'inbound' else 'outbound' end, 'text',
          'Is my order ' || place || ' ready? I would like to fetch it today.',
          case place % 2 when 0 then 'received' else 'read' end, 'wamid.HBgMMzkz' || md5(place::text) || 'FQIAERgS', at, at, at
        from generate_series(${first}::bigint, ${Math.min(first + perMonth, size.messages) - 1}::bigint) as place
        cross join lateral (
          select
            case place % ${LONG} when 0 then 0 else 1 + (place - place / ${LONG} - 1) % ${size.conversations - 1} end as conversation,
            case place % ${LONG} when 0 then place / ${LONG} else (place - place / ${LONG} - 1) / ${size.conversations - 1} end + 1 as seq,
            least(
              date_trunc('month', now(), 'UTC') - make_interval(months => ${ago}) + (place - ${first}::bigint) * interval '1 second',
              now()
            ) as at
        ) as own
      `,
      tx`create unique index on ${tx(name)} (company_id, conversation_id, seq)`,
      tx`create unique index on ${tx(name)} (company_id, wamid) where wamid is not null`,
    ])
  }
  await db`select setval('messages_id_seq', ${size.messages * 2})`
  return chat.id
}

async function fillDeliveries({ db }: Stage, companyId: number, registrationId: number, size: Size): Promise<void> {
  const perDay = Math.ceil(size.deliveries / DAYS)
  for (let ago = DAYS - 1; ago >= 0; ago -= 1) {
    const first = (DAYS - 1 - ago) * perDay
    const range = (tx: Db) => tx`
      from generate_series(${first}::bigint, ${first + perDay - 1}::bigint) as place
      cross join (
        select day, day * 1000000000::bigint as floor, timestamptz 'epoch' + day * interval '1 day' as at
        from (select (now() at time zone 'UTC')::date - date '1970-01-01' - ${ago}::integer as day) as today
      ) as own
    `
    await fillPartition(db, 'envelopes', 'day', ago, (tx, name) => [
      tx`
        insert into ${tx(name)} (company_id, day, event_id, event, body, delivery_ids, created_at)
        select
          ${companyId}::bigint, day, 'wamid.HBgMMzkz' || md5(place::text) || 'FQIAERgS', ${DELIVERED},
          '{"event":"' || place || repeat('x', ${ENVELOPE_FILL}) || '"}', array[floor + place + 1], at
        ${range(tx)}
      `,
    ])
    await fillPartition(db, 'deliveries', 'day', ago, (tx, name) => [
      tx`
        insert into ${tx(name)} (
          company_id, id, day, registration_id, event, event_id, status, attempts, due_at, created_at, status_code, response,
          duration_ms, sent_at, logged_at
        )
        select
          ${companyId}::bigint, floor + place + 1, day, ${registrationId}::bigint, ${DELIVERED},
          'wamid.HBgMMzkz' || md5(place::text) || 'FQIAERgS', 'delivered', 1, at, at, 200, 'ok', 3, at, at
        ${range(tx)}
      `,
    ])
  }
  await db`select setval('delivery_ids', ${size.deliveries * 2})`
  await makeDeliveryDays(db)
}

/** Replaces the partition of a month or day that lies so far back: its rows are written before it has indexes. */
async function fillPartition(
  db: Stage['db'],
  parent: string,
  unit: 'month' | 'day',
  ago: number,
  statements: (tx: Db, name: string) => PromiseLike<unknown>[],
): Promise<void> {
  const format = unit === 'month' ? 'YYYYMM' : 'YYYYMMDD'
  const bounds =
    unit === 'month'
      ? `message_id_floor(at) as first, message_id_floor(at + interval '1 month') as last`
      : `at::date - date '1970-01-01' as first, at::date - date '1970-01-01' + 1 as last`
  const [own] = await db.unsafe<[{ name: string; first: number; last: number }]>(
    `select '${parent}_' || to_char(at, '${format}') as name, ${bounds}
     from (select date_trunc('${unit}', now() at time zone 'UTC') - interval '${ago} ${unit}' as at) as start`,
  )
  await db.begin(async (tx) => {
    await tx`set local maintenance_work_mem = '1GB'`
    await tx.unsafe(`drop table if exists ${own.name}`)
    await tx.unsafe(
      `create table ${own.name} (like ${parent} including defaults including generated including constraints)`,
    )
    for (const statement of statements(tx, own.name)) await statement
    await tx.unsafe(
      `alter table ${parent} attach partition ${own.name} for values from (${own.first}) to (${own.last})`,
    )
  })
}

/** Builds the indexes of a table after its rows. */
async function withoutIndexes(db: Stage['db'], table: string, fill: () => PromiseLike<unknown>): Promise<void> {
  const indexes = await db<{ name: string; definition: string }[]>`
    select indexrelid::regclass::text as name, pg_get_indexdef(indexrelid) as definition
    from pg_index
    where indrelid = ${table}::regclass and not indisprimary
  `
  for (const { name } of indexes) await db.unsafe(`drop index ${name}`)
  await fill()
  await db.begin(async (tx) => {
    await tx`set local maintenance_work_mem = '1GB'`
    for (const { definition } of indexes) await tx.unsafe(definition)
  })
}
