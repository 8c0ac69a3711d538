import { expect, test } from 'vitest'
import { startTestService } from './service.ts'

const { createCompany, operator } = await startTestService({ config: { smtpUrl: undefined } })

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
