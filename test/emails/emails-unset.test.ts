import { expect, test } from 'vitest'
import { eventually, startTestService } from '../service.ts'
import { startMailServer } from './mail-server.ts'

const { createCompany, operator, db, url } = await startTestService({ mirrors: true, config: { smtpUrl: undefined } })

test('without a mail server the email endpoints answer 503 and say what to set', async () => {
  const { api, companyId } = await createCompany({ isConnected: false })
  const template = await operator('POST', `/companies/${companyId}/email-templates`, {
    name: 'T',
    subject: 's',
    html: 'h',
  })
  for (const answer of [
    await api('POST', '/emails', { to: 'a@example.com', subject: 's', html: 'h', from: 'b@example.com' }),
    await api('POST', '/templates/email/send', { uid: template.body.id, recipient: 'a@example.com' }),
  ]) {
    expect(answer.status).toBe(503)
    expect(answer.body.error.code).toBe('service_unavailable')
    expect(answer.body.error.message).toContain('SMTP_URL')
  }
})

test('a mail whose mail server was taken away waits, and goes out when there is one again', async () => {
  const { api, companyId } = await createCompany({ isConnected: false })
  let isBusy = true
  const server = await startMailServer({ behave: () => (isBusy ? { code: 421, message: 'Busy' } : undefined) })
  const settings = (smtpUrl: string | null) =>
    operator('PUT', `/companies/${companyId}/email-settings`, { from: 'shop@example.org', smtpUrl })
  const lastErrorAfter = (attempts: number) =>
    eventually(async () => {
      const [job] = await db`select last_error from jobs where company_id = ${companyId} and attempts = ${attempts}`
      return job?.lastError
    })
  const tryNow = () => db`update jobs set due_at = now() where company_id = ${companyId}`

  await settings(server.url)
  const sent = await api('POST', '/emails', { to: 'a@example.com', subject: 's', html: 'h' })
  expect(sent.status).toBe(201)
  expect(await lastErrorAfter(1)).toMatch(/^421 /)

  await settings(null)
  await tryNow()
  expect(await lastErrorAfter(2)).toContain('SMTP_URL')
  const ready = await (await fetch(`${url}/readyz`)).json()
  const service = { status: 'failing', fault: 'not-configured' }
  expect(ready).toMatchObject({ status: 'ok', details: { mail: { service } } })

  isBusy = false
  await settings(server.url)
  await tryNow()
  await eventually(async () => server.mails.length === 1)
  await server.stop()
})
