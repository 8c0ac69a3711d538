import { expect } from 'vitest'
import { eventually, startTestService, type TestService, uniquePhone } from '../service.ts'

type Company = Awaited<ReturnType<TestService['createCompany']>>

const SEND = '/templates/whatsapp/send'

export const SCHEDULED = '/whatsapp/scheduled-messages'

export const NOTICE = { type: 'template', template: { name: 'shipping_notice' } }

export const hoursAhead = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString()

export const TOMORROW = hoursAhead(24)

export const schedule = ({ api }: Company, body: object = {}, headers: Record<string, string> = {}) =>
  api('POST', SEND, { recipient: uniquePhone(), ...NOTICE, sendAt: TOMORROW, ...body }, headers)

export async function scheduled(company: Company, body: object = {}) {
  const { status, body: answer } = await schedule(company, body)
  expect([status, answer.error]).toEqual([202, undefined])
  return answer.data
}

export const record = async ({ api }: Company, id: number) => (await api('GET', `${SCHEDULED}/${id}`)).body.data

/** A service whose scheduled messages can be made due. */
export async function startScheduled() {
  // Messages with `sendAt`. The tests move the time of a message, never the clock of the machine.
  const service = await startTestService({
    mirrors: true,
    config: { legacyRemovalDate: new Date('2100-01-01T00:00:00Z') },
  })
  const { db, createCompany, control } = service
  /** Moves the time of a message to `secondsAgo`. */
  async function makeDue({ companyId }: Company, id: number, secondsAgo = 0): Promise<void> {
    await db`
    update scheduled_messages set send_at = now() - make_interval(secs => ${secondsAgo})
    where (company_id, id) = (${companyId}::bigint, ${id}::bigint)
  `
    await makeJobDue(companyId, id)
  }
  const makeJobDue = (companyId: number, id: number) => db`
  update jobs set due_at = now()
  where (company_id, subject_id) = (${companyId}::bigint, ${id}::bigint) and kind = 'message.send' and claim_id is null
`
  const untilJobEnded = (companyId: number, id: number) =>
    eventually(async () => {
      const jobs = await db`
      select from jobs where (company_id, subject_id, kind) = (${companyId}::bigint, ${id}::bigint, 'message.send')
    `
      return jobs.length === 0
    })
  /** Sends a message whose time has come, to the end of its job. */
  async function go(company: Company, id: number, secondsAgo = 0) {
    await makeDue(company, id, secondsAgo)
    await untilJobEnded(company.companyId, id)
    return record(company, id)
  }
  const takenBy = async (recipient: string) =>
    (await control('GET', '/messages?limit=500')).body.filter(({ to }: { to: string }) => to === recipient)
  /** A message of a customer, which opens the window. */
  async function written({ companyId, phoneNumberId }: Company, from = uniquePhone()) {
    const message = { phoneNumberId, from, type: 'text', text: { body: 'Hi' } }
    const { wamid } = (await control('POST', '/inbound', message)).body
    return eventually(async () => {
      const [row] = await db<{ id: number; conversationId: number }[]>`
      select id, conversation_id from messages where company_id = ${companyId} and wamid = ${wamid}
    `
      return row && { from, wamid: wamid as string, messageId: row.id, chatId: row.conversationId }
    })
  }
  return { service, db, createCompany, control, makeDue, makeJobDue, untilJobEnded, go, takenBy, written }
}
