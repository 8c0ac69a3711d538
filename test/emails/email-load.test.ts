import { expect, test } from 'vitest'
import { MAIL, startMailing } from './email-world.ts'

const { createCompany, createMailing, operator, db } = await startMailing()

test('large mails at once: 8 MiB in one statement, and what was refused as too much is not sent', async () => {
  const { api, companyId } = await createCompany({ isConnected: false })
  const html = `<p>${'word '.repeat(190_000)}</p>`
  const answers: Awaited<ReturnType<typeof api>>[] = []
  // A machine that is very busy takes fewer mails than fill one statement: then more follow.
  while (answers.filter(({ status }) => status === 201).length <= 8) {
    const posted = Array.from({ length: 60 }, (_, n) => api('POST', '/emails', { ...MAIL, html, subject: `Mail ${n}` }))
    answers.push(...(await Promise.all(posted)))
  }
  const accepted = answers.filter(({ status }) => status === 201)
  const refused = answers.filter(({ body }) => body.error?.message.includes('nothing was done'))
  // On a machine that is busy, a statement that has started may outlast its callers: their outcome is unknown.
  const unknown = answers.length - accepted.length - refused.length
  const rows = await db<{ uid: string }[]>`select uid from emails where company_id = ${companyId}`
  const uids = new Set(rows.map(({ uid }) => uid))
  for (const { body } of accepted) expect(uids).toContain(body.data.id)
  expect(uids.size).toBeLessThanOrEqual(accepted.length + unknown)

  const statements = await db<{ mails: number }[]>`
    select count(*) as mails from emails where company_id = ${companyId} group by created_at
  `
  expect(Math.max(...statements.map(({ mails }) => mails))).toBeLessThanOrEqual(8)
}, 300_000)

test('templates and mails that wait for others of their company are not refused for the database', async () => {
  const { companyId, send } = await createMailing()
  // Each takes 300 ms of processor time in the worker, one after the other: longer together than a database may take to answer.
  const html = '{% assign a = (1..2000000) | where_exp: "i", "i > 5" %}'
  const slow = { name: 'Slow', subject: 'Slow', html }
  const templates = Array.from({ length: 16 }, () => operator('POST', `/companies/${companyId}/email-templates`, slow))
  const answers = await Promise.all([...templates, send('ada@example.com')])
  expect(answers.map(({ status }) => status)).toContain(422)
  expect(answers.filter(({ body }) => /database/.test(JSON.stringify(body)))).toEqual([])
}, 300_000)
