import { expect, test } from 'vitest'
import { eventually, startTestService } from './service.ts'

const service = await startTestService()
const { createCompany, control, operator } = service

test('smoke', async () => {
  const { api, companyId } = await createCompany({ isConnected: false })
  const sent = await api('POST', '/emails', {
    to: 'ada@example.com', subject: 'Grüße, Ada', html: '<p>Hello <a href="https://example.com/?a=1&amp;b=2">shop</a></p>', from: 'shop@example.org', fromName: 'The "Shop"',
  })
  console.log(sent.status, sent.text)
  const stats = await eventually(async () => {
    const answer = await api('GET', `/emails/${sent.body.data.id}/stats`)
    return answer.body.data?.status === 'pending' ? undefined : answer
  })
  console.log(stats.text)
  console.log((await control('GET', '/emails')).text)
})
