import { randomUUID } from 'node:crypto'
import { afterAll } from 'vitest'
import { connect } from '../../src/db/connect.ts'
import { forwardMessages } from '../../src/webhooks/events/message-received.ts'
import { startReceiver } from '../receiver.ts'
import { eventually, startTestService, uniquePhone } from '../service.ts'
import { register } from '../webhook-fixture.ts'

/** One request of a route, and how often it has taken effect. */
export type Attempt = {
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

const template = { name: 'Welcome', subject: 'Hi', html: '<p>Hi</p>' }

const countOf = async (rows: PromiseLike<{ n: number }[]>): Promise<number> => (await rows)[0]?.n ?? 0

const uniqueEmail = () => `${randomUUID()}@example.com`

/** A service and a request of each route with an Idempotency-Key. */
export async function startCases() {
  const service = await startTestService({ config: { webhookAllowPrivate: true } })
  const { db, control } = service
  /** For locks and looks at them: while a table is locked, the workers of the service may take all connections of `db`. */
  const lockDb = connect(service.databaseUrl, { max: 12 })
  const receiver = await startReceiver()
  const company = await service.createCompany()
  const { companyId } = company
  const { token } = company.key
  /** A conversation whose window is open. */
  const chatId = await openConversation(company.phoneNumberId)
  await service.operator('PUT', `/companies/${companyId}/email-settings`, { from: 'shop@example.com' })
  const templateUid: string = (await service.operator('POST', `/companies/${companyId}/email-templates`, template)).body
    .id
  const registrationId = (await register(db, companyId, { url: receiver.url })).id
  await db`create table contact_writes (email text)`
  await db.unsafe(`
  create function count_write() returns trigger language plpgsql as $$
  begin
    insert into contact_writes values (new.email);
    return new;
  end $$;
  create trigger count_write after insert or update on contacts for each row execute function count_write();
`)
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
  afterAll(async () => {
    await receiver.close()
    await lockDb.end()
  })
  return { service, db, lockDb, companyId, token, reply, CASES }
}
