import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { buildApp } from '../../src/app.ts'
import { connect, type Pool } from '../../src/db/connect.ts'
import { forwardMessages } from '../../src/webhooks/events/message-received.ts'
import { createDeps } from '../../src/wiring/deps.ts'
import { compareAnswers } from '../contract/described-answers.ts'
import { startCutProxy } from '../cut-proxy.ts'
import { type Receiver, startReceiver } from '../receiver.ts'
import { eventually, startTestService, uniquePhone } from '../service.ts'
import { register } from '../webhook-fixture.ts'

const service = await startTestService({ config: { webhookAllowPrivate: true } })
const { db, control } = service
/** For locks and looks at them: while a table is locked, the workers of the service may take all connections of `db`. */
const lockDb = connect(service.databaseUrl, { max: 12 })

/** One request of a route, and how often it has taken effect. */
type Attempt = {
  path?: string
  type?: string
  body: unknown
  effects: () => Promise<number>
}
type Case = {
  make: () => Promise<Attempt>
  /** The table that the effect writes; locked to make the work last longer than its caller waits. */
  table?: string
}

let companyId: number
let token: string
/** A conversation whose window is open. */
let chatId: number
let receiver: Receiver
let registrationId: number
let templateUid: string
beforeAll(async () => {
  receiver = await startReceiver()
  const company = await service.createCompany()
  ;({ companyId } = company)
  ;({ token } = company.key)
  chatId = await openConversation(company.phoneNumberId)
  await service.operator('PUT', `/companies/${companyId}/email-settings`, { from: 'shop@example.com' })
  const template = { name: 'Welcome', subject: 'Hi', html: '<p>Hi</p>' }
  templateUid = (await service.operator('POST', `/companies/${companyId}/email-templates`, template)).body.id
  registrationId = (await register(db, companyId, { url: receiver.url })).id
  await db`create table contact_writes (email text)`
  await db.unsafe(`
    create function count_write() returns trigger language plpgsql as $$
    begin
      insert into contact_writes values (new.email);
      return new;
    end $$;
    create trigger count_write after insert or update on contacts for each row execute function count_write();
  `)
})

async function openConversation(phoneNumberId: string): Promise<number> {
  const from = uniquePhone()
  await control('POST', '/inbound', { phoneNumberId, from, type: 'text', text: { body: 'Hi' } })
  return eventually(async () => {
    const [row] = await db<{ id: number }[]>`
      select conversation.id
      from conversations conversation
      join customers customer on (customer.company_id, customer.id) = (conversation.company_id, conversation.customer_id)
      where conversation.company_id = ${companyId} and customer.phone = ${from}
    `
    return row?.id
  })
}

const countOf = async (rows: PromiseLike<{ n: number }[]>): Promise<number> => (await rows)[0]?.n ?? 0
const uniqueEmail = () => `${randomUUID()}@example.com`

const send = async (): Promise<Attempt> => {
  const recipient = uniquePhone()
  return {
    body: { recipient, type: 'template', template: { name: 'shipping_notice' } },
    effects: async () => {
      const sent: { to: string }[] = (await control('GET', '/messages?limit=500')).body
      return sent.filter(({ to }) => to === recipient).length
    },
  }
}
const sendLater = async (): Promise<Attempt> => {
  const recipient = uniquePhone()
  const sendAt = new Date(Date.now() + 86_400_000).toISOString()
  return {
    path: '/public/v1/templates/whatsapp/send',
    body: { recipient, type: 'template', template: { name: 'shipping_notice' }, sendAt },
    effects: () =>
      countOf(db<{ n: number }[]>`
        select count(*)::int as n
        from scheduled_messages scheduled
        join jobs on (jobs.company_id, jobs.subject_id) = (scheduled.company_id, scheduled.id) and jobs.kind = 'message.send'
        where scheduled.company_id = ${companyId} and recipient = ${recipient}`),
  }
}
const reply = async (): Promise<Attempt> => {
  const text = randomUUID()
  return {
    path: `/public/v1/whatsapp/conversations/${chatId}/messages`,
    body: { type: 'text', text },
    effects: async () => {
      const sent: { body: { text?: { body: string } } }[] = (await control('GET', '/messages?limit=500')).body
      return sent.filter(({ body }) => body.text?.body === text).length
    },
  }
}
const signInLink = async (): Promise<Attempt> => {
  const name = randomUUID()
  return {
    body: { name },
    effects: () =>
      countOf(db<{ n: number }[]>`
        select count(*)::int as n from sign_in_links where company_id = ${companyId} and name = ${name}`),
  }
}
const mailsTo = (recipient: string) => () =>
  countOf(db<{ n: number }[]>`select count(*)::int as n from emails where recipient = ${recipient}`)
const templateEmail = async (): Promise<Attempt> => {
  const recipient = uniqueEmail()
  return { body: { uid: templateUid, recipient }, effects: mailsTo(recipient) }
}
const contact = async (): Promise<Attempt> => {
  const email = uniqueEmail()
  return {
    body: { email, firstName: 'Ada' },
    effects: () => countOf(db<{ n: number }[]>`select count(*)::int as n from contact_writes where email = ${email}`),
  }
}
/** A delivery that has been made and logged. */
async function delivered(): Promise<{ deliveryId: number; logId: number; since: string }> {
  const wamid = randomUUID()
  const since = new Date().toISOString()
  await db.begin((tx) =>
    forwardMessages(tx, [{ companyId, wamid, messageId: null, senderId: 1, conversationId: null, body: '{}' }]),
  )
  const log = await eventually(async () => {
    const [row] = await db<{ deliveryId: number; logId: number }[]>`
      select delivery.id as delivery_id, delivery.id as log_id
      from deliveries delivery
      where delivery.company_id = ${companyId} and delivery.event_id = ${wamid} and delivery.status = 'delivered'`
    return row
  })
  return { ...log, since }
}
const roundsOf = async (deliveryId: number) => {
  const rounds = () =>
    countOf(
      db<{ n: number }[]>`select round as n from deliveries where company_id = ${companyId} and id = ${deliveryId}`,
    )
  const before = await rounds()
  return async () => (await rounds()) - before
}

const uploadsOf = () => db<{ n: number }[]>`
  select count(*)::int as n from uploads where company_id = ${companyId} and size_bytes is not null
`

const CASES: Record<string, Case> = {
  '/public/v1/templates/whatsapp/send': { make: send, table: 'messages' },
  '/public/v1/templates/whatsapp/send with sendAt': { make: sendLater, table: 'scheduled_messages' },
  '/api/transactionals/whatsapp/send': { make: send, table: 'messages' },
  '/public/v1/whatsapp/conversations/{chatId}/messages': { make: reply, table: 'messages' },
  '/public/v1/console/sign-in-links': { make: signInLink, table: 'sign_in_links' },
  '/public/v1/emails': {
    make: async () => {
      const to = uniqueEmail()
      return { body: { to, subject: 'Hi', html: '<p>Hi</p>' }, effects: mailsTo(to) }
    },
    table: 'emails',
  },
  '/public/v1/templates/email/send': { make: templateEmail, table: 'emails' },
  '/api/transactionals': { make: templateEmail, table: 'emails' },
  '/public/v1/contacts': { make: contact, table: 'contacts' },
  '/api/contacts': { make: contact, table: 'contacts' },
  '/public/v1/contacts/import': {
    make: async () => {
      // Requests that were cut leave lists that are being received until a sweep ends them, and ten of a company may wait.
      await db`delete from contact_imports where company_id = ${companyId} and status = 'receiving'`
      const [before] = await db<{ id: number }[]>`select coalesce(max(id), 0) as id from contact_imports`
      return {
        type: 'text/csv',
        body: `email\n${uniqueEmail()}\n`,
        effects: () =>
          countOf(db<{ n: number }[]>`
            select count(*)::int as n from contact_imports where id > ${before?.id ?? 0} and status <> 'receiving'`),
      }
    },
    table: 'jobs',
  },
  '/public/v1/whatsapp/media': {
    make: async () => {
      const before = await countOf(uploadsOf())
      return {
        type: 'text/plain',
        body: `A file ${randomUUID()}`,
        effects: async () => (await countOf(uploadsOf())) - before,
      }
    },
    table: 'uploads',
  },
  '/public/v1/custom-fields': {
    make: async () => {
      const key = `K${randomUUID().replaceAll('-', '_').toUpperCase()}`
      return {
        body: { key, displayName: 'Field', type: 'text' },
        effects: () => countOf(db<{ n: number }[]>`select count(*)::int as n from custom_fields where key = ${key}`),
      }
    },
    table: 'custom_fields',
  },
  '/public/v1/whatsapp/quick-replies': {
    make: async () => {
      const title = randomUUID()
      return {
        body: { title, text: 'Thank you' },
        effects: () =>
          countOf(db<{ n: number }[]>`select count(*)::int as n from quick_replies where title = ${title}`),
      }
    },
    table: 'quick_replies',
  },
  '/public/v1/webhooks/registrations': {
    make: async () => {
      const name = randomUUID()
      return {
        body: { name, url: 'https://receiver.example/', events: ['whatsapp.message.received'] },
        effects: async () => {
          const rows = await db<{ id: number }[]>`select id from registrations where name = ${name}`
          await db`update registrations set status = 'inactive' where name = ${name}`
          return rows.length
        },
      }
    },
    table: 'registrations',
  },
  '/public/v1/webhooks/registrations/{id}/test': {
    make: async () => {
      const before = receiver.received.length
      return {
        path: `/public/v1/webhooks/registrations/${registrationId}/test`,
        body: undefined,
        effects: async () => receiver.received.length - before,
      }
    },
  },
  '/public/v1/webhooks/registrations/{id}/logs/{logId}/redeliver': {
    make: async () => {
      const { deliveryId, logId } = await delivered()
      return {
        path: `/public/v1/webhooks/registrations/${registrationId}/logs/${logId}/redeliver`,
        body: undefined,
        effects: await roundsOf(deliveryId),
      }
    },
    table: 'deliveries',
  },
  '/public/v1/webhooks/registrations/{id}/redeliver': {
    make: async () => {
      const { deliveryId, since } = await delivered()
      return {
        path: `/public/v1/webhooks/registrations/${registrationId}/redeliver`,
        body: { since },
        effects: await roundsOf(deliveryId).then((rounds) => async () => {
          await eventually(
            async () => (await db`select from redeliveries where company_id = ${companyId}`).length === 0,
          )
          return rounds()
        }),
      }
    },
    table: 'redeliveries',
  },
}

/** An API process of its own whose database is behind a proxy. */
async function startFaultyApi() {
  // Tests run side by side: the end of one must not close the way of another.
  let closeProxy: () => unknown = () => {}
  const proxy = await startCutProxy(service.databaseUrl, (close) => {
    closeProxy = close
  })
  const faulty: Pool = connect(proxy.url, { max: 4 })
  const config = { ...service.deps.config, legacyRemovalDate: new Date('2100-01-01T00:00:00Z') }
  const app = await buildApp(createDeps({ ...service.deps, config, db: faulty, workerDb: faulty }))
  compareAnswers(app)
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  const post = async (route: string, { path = route, type = 'application/json', body }: Attempt, key: string) => {
    const response = await fetch(`${url}${path}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'idempotency-key': key,
        ...(body !== undefined && { 'content-type': type }),
      },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    const text = await response.text()
    return { status: response.status, text, isReplayed: response.headers.has('idempotent-replayed') }
  }
  const stop = async () => {
    await app.close()
    await faulty.end({ timeout: 1 })
    await closeProxy()
  }
  return { proxy, post, stop }
}

type Reply = { status: number; text: string; isReplayed: boolean }
const isUnknown = ({ text }: Reply) => text.includes('send_outcome_unknown')
const isDone = (reply: Reply) => reply.status < 300 || (isUnknown(reply) && reply.isReplayed)

/** As if the processes of all requests without an outcome had died: their leases are over. */
const expireLeases = () => db`
  update idempotency_keys set lease_until = now() - interval '1 second'
  where company_id = ${companyId} and answer_status is null`

/** Repeats a request until its outcome is final. */
async function repeat(post: () => Promise<Reply>): Promise<Reply> {
  return eventually(async () => {
    await expireLeases()
    const reply = await post()
    return isDone(reply) ? reply : undefined
  }, 300_000)
}

test('every POST route of the API-key surface is covered', async () => {
  const { body } = await service.call(service.url, 'GET', '/openapi.json')
  const posts = Object.keys(body.paths).filter((path) => body.paths[path].post && !path.startsWith('/admin/'))
  // The provider's events have no key. An agent who answers, and read and typing marks, leave nothing that could be doubled.
  const isKept = (path: string) =>
    !path.startsWith('/public/v1/webhooks/whatsapp') && !/\/(answering|read|typing)$/.test(path)
  expect(posts.filter(isKept).sort()).toEqual(
    Object.keys(CASES)
      .filter((route) => !route.includes(' '))
      .sort(),
  )
})

const MAX_STEPS = 40
const LONGER_THAN_CALLERS_WAIT_MS = 4_000

describe('whatever answer of the database is lost, one key has one effect', () => {
  let api: Awaited<ReturnType<typeof startFaultyApi>>
  beforeAll(async () => {
    api = await startFaultyApi()
  })
  afterAll(() => api.stop())

  test.each(Object.entries(CASES))('%s', { timeout: 240_000 }, async (route, { make }) => {
    const { proxy, post } = api
    let step = 0
    for (let isCut = true; isCut && step < MAX_STEPS; ) {
      step += 1
      const attempt = await make()
      const key = randomUUID()
      proxy.cutAtReply(step)
      const first = await post(route, attempt, key)
      isCut = proxy.hasCut()
      proxy.cutAtReply(Number.POSITIVE_INFINITY)
      const effects = await attempt.effects()
      const last = await repeat(() => post(route, attempt, key))
      const seen = { route, step, isCut, first: first.status, last: last.status, before: effects }
      if (isUnknown(last))
        expect({ ...seen, effects: (await attempt.effects()) <= 1 }).toEqual({ ...seen, effects: true })
      else expect({ ...seen, effects: await attempt.effects() }).toEqual({ ...seen, effects: 1 })
      if (first.status < 300) expect(last.text).toBe(first.text)
    }
    expect(step).toBeLessThan(MAX_STEPS)
    expect(step).toBeGreaterThan(1)
  })
})

describe('work that outlasts its caller takes effect once, and a repeat gets its outcome', () => {
  // Tables are locked side by side, but each by one test at a time.
  const tables = Map.groupBy(
    Object.entries(CASES).flatMap(([route, { make, table }]) => (table ? [{ route, make, table }] : [])),
    ({ table }) => table,
  )
  describe.concurrent.each([...tables])('%s', (table, cases) => {
    test.each(cases)('$route', { concurrent: false }, async ({ route, make }) => {
      const api = await startFaultyApi()
      const attempt = await make()
      const key = randomUUID()
      const release = await lockTable(table)
      try {
        let first = observe(api.post(route, attempt, key))
        await eventually(async () => {
          if (await isAwaited(table)) return true
          // A busy machine may answer 503 before the call needs the table: it is repeated, as clients do.
          if (first.isAnswered) first = observe(api.post(route, attempt, key))
          return false
        })
        // Callers of routes that may take long are not answered 503 while the database answers others.
        const early = await Promise.race([first.reply, sleep(LONGER_THAN_CALLERS_WAIT_MS)])
        const meanwhile = await api.post(route, attempt, key)
        expect([early?.status ?? 503, meanwhile.status], meanwhile.text).toEqual([503, expect.toBeOneOf([409, 503])])
      } finally {
        // Tests of other tables wait for this one.
        await release()
      }
      const last = await eventually(async () => {
        const reply = await api.post(route, attempt, key)
        return isDone(reply) ? reply : undefined
      })
      expect([last.status < 300, await attempt.effects()]).toEqual([true, 1])
      await api.stop()
    })
  })
})

/** Locks a table until the returned function is called. */
async function lockTable(table: string): Promise<() => Promise<void>> {
  const released = Promise.withResolvers<void>()
  const locked = Promise.withResolvers<void>()
  const holder = lockDb.begin(async (tx) => {
    await tx`lock table ${tx(table)} in exclusive mode`
    locked.resolve()
    await released.promise
  })
  await Promise.race([locked.promise, holder])
  return async () => {
    released.resolve()
    await holder
  }
}

/** A call, and whether it was answered by now. */
function observe<Reply>(reply: Promise<Reply>): { reply: Promise<Reply>; isAnswered: boolean } {
  const observed = { reply, isAnswered: false }
  const onEnd = () => {
    observed.isAnswered = true
  }
  reply.then(onEnd, onEnd)
  return observed
}

/** Whether a statement waits for a lock on the table. */
const isAwaited = async (table: string) =>
  (await lockDb`select from pg_locks where not granted and relation = ${table}::regclass`).length > 0

afterAll(async () => {
  await receiver.close()
  await lockDb.end()
})
