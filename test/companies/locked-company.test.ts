import { expect, test } from 'vitest'
import { createToken, newSecret } from '../../src/emails/tracking/tracking-token.ts'
import { createSendDeps } from '../../src/wiring/feature-deps.ts'
import { openKeyStream } from '../conversations/live-stream.ts'
import { eventually, startTestService, untilLocked } from '../service.ts'
import { messageTo } from '../world.ts'

const service = await startTestService({ mirrors: true })
const { db, deps, url } = service

/** As an export locks a company. */
async function lock(companyId: number): Promise<void> {
  await db`update companies set closed_at = now() where id = ${companyId}`
  await untilLocked(service, companyId)
}

const MOVING = expect.objectContaining({ status: 503, headers: { 'retry-after': '30' } })

test('opens and clicks in mails of a locked company lead on and are not counted, and unsubscribing is answered 503', async () => {
  const { companyId } = await service.createCompany({ isConnected: false })
  const secret = newSecret()
  const [email] = await db<{ id: number }[]>`
    insert into emails (company_id, uid, recipient, subject, message_id, secret, is_marketing, status, completed_at)
    values (
      ${companyId}, 'eml_moved', 'ada@example.com', 'Hi', '<1@a>', ${secret}, true, 'sent', now() - interval '1 minute'
    )
    returning id
  `
  const { id } = email!
  await db`insert into email_links (company_id, email_id, targets) values (${companyId}, ${id}, '{https://a.example/}')`
  const addressOf = (path: string, token: string) => `${url}/public/v1/${path}/${token}`
  const call = async (path: string, token: string, method = 'GET') => {
    const answer = await fetch(addressOf(path, token), { method, redirect: 'manual' })
    return [answer.status, answer.headers.get('location') ?? answer.headers.get('retry-after')]
  }
  const tokenOf = (use: 'open' | 'click' | 'unsubscribe', link: number) =>
    createToken({ companyId, id, secret }, use, link)
  const counts = () => db`select open_count, click_count from emails where company_id = ${companyId}`

  expect(await call('o', tokenOf('open', 0))).toEqual([200, null])
  expect(await counts()).toEqual([{ openCount: 1, clickCount: 0 }])
  await lock(companyId)
  expect(await call('o', tokenOf('open', 0))).toEqual([200, null])
  expect(await call('c', tokenOf('click', 1))).toEqual([302, 'https://a.example/'])
  expect(await counts()).toEqual([{ openCount: 1, clickCount: 0 }])
  expect(await call('u', tokenOf('unsubscribe', 0), 'POST')).toEqual([503, '30'])
  expect(await db`select from contacts where company_id = ${companyId}`).toHaveLength(0)
  await db`update companies set closed_at = null where id = ${companyId}`
  await eventually(async () => (await call('u', tokenOf('unsubscribe', 0), 'POST'))[0] === 200)
  expect(await db`select email_consent from contacts where company_id = ${companyId}`).toEqual([
    { emailConsent: false },
  ])
})

test('a send that reaches its batch after its company was locked is refused, and nothing is written', async () => {
  const { companyId, sender } = await service.createCompany()
  await lock(companyId)
  const send = messageTo(companyId, Number(sender.channelId), '393331')
  await expect(createSendDeps(deps).prepareSend(send)).rejects.toEqual(MOVING)
  expect(await db`select from messages where company_id = ${companyId}`).toHaveLength(0)
})

test('a live stream of a company that is locked ends, and one that is opened then is answered 503', async () => {
  const { companyId, key } = await service.createCompany({ isConnected: false })
  const stream = await openKeyStream(url, key.token)
  await lock(companyId)
  await eventually(async () => stream.hasEnded())
  expect((await openKeyStream(url, key.token)).response.status).toBe(503)
})
