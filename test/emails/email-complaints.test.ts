import { describe, expect, test } from 'vitest'
import { contactOf, SECRET, startBounces } from './bounce-world.ts'
import { uniqueAddress } from './email-world.ts'

const { mailing, createMailing, statsOf, operator, db, url, call, deps, received, report, mailed } =
  await startBounces()

describe('reports that Postmark posts', () => {
  const post = (body: object, authorization = `Basic ${Buffer.from(`parley:${SECRET}`).toString('base64')}`) =>
    call(url, 'POST', '/public/v1/webhooks/email/postmark', body, { authorization })
  const tokenOf = (returnPath: string) => returnPath.slice('bounce+'.length).split('@')[0]

  test.each([
    ['HardBounce', { status: 'bounced' }, 'bounce'],
    ['SoftBounce', { status: 'bounced' }, null],
    ['Transient', { status: 'sent' }, null],
    ['AutoResponder', { status: 'sent' }, null],
  ])('%s', async (type, stats, reason) => {
    const { api } = await createMailing()
    const { id, to, returnPath } = await mailed(api)
    await api('POST', '/contacts', { email: to })
    const body = { RecordType: 'Bounce', Type: type, Details: 'smtp;550 No', Metadata: { report: tokenOf(returnPath) } }
    expect((await post(body)).status).toBe(200)
    expect(await statsOf(api, id)).toMatchObject(stats)
    expect((await contactOf(api, to)).email_suppression?.reason ?? null).toBe(reason)
  })

  test('a complaint leaves the mail sent, shows its time, and suppresses the address', async () => {
    const { api, send, template } = await createMailing({ category: 'MARKETING' })
    const to = uniqueAddress()
    const { id } = (await send(to)).body.data
    await mailing.untilCompleted(api, id)
    const [arrived] = await received(to)
    const returnPath = arrived.envelope.from
    await api('POST', '/contacts', { email: to })
    const body = { RecordType: 'SpamComplaint', Type: 'SpamComplaint', Metadata: { report: tokenOf(returnPath) } }
    expect((await post(body)).status).toBe(200)
    expect(await statsOf(api, id)).toMatchObject({ status: 'sent', complainedAt: expect.stringMatching(/Z$/) })
    expect((await contactOf(api, to)).email_suppression.reason).toBe('complaint')
    expect((await post(body)).status).toBe(200)
    const stats = await api('GET', `/transactionals/${template.transactionalId}/stats`)
    expect(stats.body.data).toMatchObject({ totalMessagesSent: 1, totalBounced: 0, totalComplaints: 1 })
    expect(await send(to)).toMatchObject({ status: 403, body: { error: { message: expect.stringContaining('spam') } } })
  })

  test('without the password are refused, and with a forged token change nothing', async () => {
    const { api } = await createMailing()
    const { id } = await mailed(api)
    const body = { RecordType: 'Bounce', Type: 'HardBounce', Metadata: { report: '0'.repeat(48) } }
    for (const header of ['', `Basic ${Buffer.from('parley:wrong').toString('base64')}`, `Bearer ${SECRET}`]) {
      expect((await post(body, header)).status).toBe(401)
    }
    expect((await post(body)).status).toBe(200)
    expect((await post({ RecordType: 'Open' })).status).toBe(200)
    expect((await statsOf(api, id)).status).toBe('sent')
  })
})

test('an erasure keeps the suppression as a keyed hash; the archive shows it before, and it still holds', async () => {
  const { api, send, companyId } = await createMailing({ category: 'MARKETING' })
  const { to, returnPath } = await mailed(api)
  const [contact] = (await api('POST', '/contacts', { email: to })).body.data
  await report(returnPath)
  const archive = await api('GET', `/contacts/${contact.id}/archive`)
  expect(archive.text).toContain('"email_suppression"')
  expect((await api('DELETE', `/contacts/${contact.id}?erase=true`)).status).toBe(200)
  const rows = await db`select address, detail from email_suppressions where company_id = ${companyId}`
  expect(rows).toEqual([{ address: expect.stringMatching(/^hash:/), detail: null }])
  // The mail is erased, so its return path leads nowhere.
  expect((await report(returnPath)).code).toBe(550)
  expect((await send(to)).status).toBe(403)
  await api('POST', '/contacts', { email: to })
  expect((await contactOf(api, to)).email_suppression.reason).toBe('bounce')
  expect(
    (await operator('DELETE', `/companies/${companyId}/email-suppressions/${encodeURIComponent(to)}`)).status,
  ).toBe(200)
  expect((await send(to)).status).toBe(200)
})

test('the counts of reports are in the metrics', async () => {
  expect(await deps.metrics.registry.getSingleMetricAsString('parley_email_reports_total')).toMatch(
    /kind="bounce"\} [1-9]/,
  )
})
