import { describe, expect, test } from 'vitest'
import { completeEmails } from '../../src/emails/delivery/email-delivery-store.ts'
import { createToken } from '../../src/emails/tracking/tracking-token.ts'
import { openKeyStream } from '../conversations/live-stream.ts'
import { eventually } from '../service.ts'
import { READER, startMailing, uniqueAddress } from './email-world.ts'

const mailing = await startMailing()
const { createCompany, control, operator, db, createMailing } = mailing
const { statsOf, untilCompleted, received, deliver, linksOf, get, age } = mailing

describe('tracking', () => {
  test('opening and clicking show in the statistics, and every fetch counts', async () => {
    const { api } = await createCompany({ isConnected: false })
    const html =
      '<a href="https://shop.example/?a=1&amp;b=2">x</a><a href="mailto:a@b.example">m</a><a href="#top">t</a>'
    const { id, arrived, links } = await deliver(api, { html })
    expect(arrived.html).toContain('<a href="mailto:a@b.example">m</a><a href="#top">t</a>')
    expect(links.clicks).toHaveLength(1)
    await age()

    const pixel = await get(links.pixel)
    expect([pixel.status, pixel.headers.get('content-type'), pixel.headers.get('cache-control')]).toEqual([
      200,
      'image/gif',
      'no-store',
    ])
    const opened = await statsOf(api, id)
    expect(opened).toMatchObject({ opened: true, clickCount: 0, firstClickAt: null })

    for (const _ of [1, 2, 3]) {
      const click = await get(links.clicks[0]!)
      expect([click.status, click.headers.get('location'), click.headers.get('cache-control')]).toEqual([
        302,
        'https://shop.example/?a=1&b=2',
        'no-store',
      ])
    }
    await get(links.pixel)
    const clicked = await statsOf(api, id)
    expect(clicked).toMatchObject({
      opened: true,
      firstOpenAt: opened.firstOpenAt,
      clickCount: 3,
      suspectedMachine: { opens: 0, clicks: 0 },
    })
    const [ledger] =
      await db`select count(*), min(at) as first from email_clicks where company_id = (select company_id from emails where uid = ${id} and company_id > 0)`
    expect(ledger).toMatchObject({ count: 3 })
    expect(Math.abs(Date.parse(clicked.firstClickAt) - ledger!.first.getTime())).toBeLessThan(3_600_000)
  })

  test('HEAD is answered and not counted', async () => {
    const { api } = await createCompany({ isConnected: false })
    const { id, links } = await deliver(api, { html: '<a href="https://shop.example/">x</a>' })
    expect((await get(links.pixel, { method: 'HEAD' })).status).toBe(200)
    expect((await get(links.clicks[0]!, { method: 'HEAD' })).status).toBe(302)
    expect(await statsOf(api, id)).toMatchObject({ opened: false, clickCount: 0 })
  })

  test('fetches of machines are counted, and flagged', async () => {
    const { api } = await createCompany({ isConnected: false })
    const { id, links } = await deliver(api, { html: '<a href="https://shop.example/">x</a>' })
    // A fetch this soon after sending is a machine's.
    await get(links.clicks[0]!)
    await age()
    await get(links.pixel, { headers: { 'user-agent': 'GoogleImageProxy' } })
    await get(links.pixel)
    await get(links.clicks[0]!)
    expect(await statsOf(api, id)).toMatchObject({
      opened: true,
      clickCount: 2,
      suspectedMachine: { opens: 1, clicks: 1 },
    })
  })

  test('a token that was tampered with is 404, never a redirect', async () => {
    const { api } = await createCompany({ isConnected: false })
    const { id, links } = await deliver(api, { html: '<a href="https://shop.example/">x</a>' })
    const other = await deliver(api, { html: '<a href="https://evil.example/">x</a>' })
    const token = links.clicks[0]!.slice('/public/v1/c/'.length)
    const otherToken = other.links.clicks[0]!.slice('/public/v1/c/'.length)
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
    const flipped = [...token].map(
      (letter, place) =>
        token.slice(0, place) + alphabet[(alphabet.indexOf(letter) + 1 + (place % 60)) % 64] + token.slice(place + 1),
    )
    const tampered = [
      ...flipped.map((one) => `/public/v1/c/${one}`),
      `/public/v1/c/${token.slice(0, 20)}${otherToken.slice(20)}`,
      `/public/v1/c/${links.pixel.slice('/public/v1/o/'.length)}`,
      `/public/v1/o/${token}`,
      `/public/v1/u/${token}`,
      `/public/v1/c/${token}=`,
      '/public/v1/c/https:%2F%2Fevil.example',
      '/public/v1/c/',
    ]
    for (const path of tampered) {
      const answer = await get(path)
      expect([path, answer.status, answer.headers.get('location')]).toEqual([path, 404, null])
    }
    expect(await statsOf(api, id)).toMatchObject({ opened: false, clickCount: 0 })
  })

  test('a thousand fetches, a hundred at once, are all counted', async () => {
    const { api } = await createCompany({ isConnected: false })
    const { id, links } = await deliver(api, { html: '<a href="https://shop.example/">x</a>' })
    // A listener keeps 511 connections for a process that is too busy to accept them.
    const statuses: number[] = []
    for (let round = 0; round < 10; round += 1) {
      const answers = Array.from({ length: 100 }, (_, n) => get(n % 2 ? links.pixel : links.clicks[0]!))
      statuses.push(...(await Promise.all(answers)).map(({ status }) => status))
    }
    expect(statuses.filter((status) => status === 200 || status === 302)).toHaveLength(1_000)
    const [row] = await db`select open_count, click_count from emails where uid = ${id} and company_id > 0`
    expect(row).toMatchObject({ openCount: 500, clickCount: 500 })
  })

  test('is left out when it is not asked for', async () => {
    const { api } = await createCompany({ isConnected: false })
    const html = '<a href="https://shop.example/">x</a>'
    const { arrived } = await deliver(api, { html, trackOpens: false, trackClicks: false })
    expect(arrived.html.trim()).toBe(html)
  })
})

describe('the statistics of a template', () => {
  test('are distinct mails opened and clicked of mails sent, in whole percent', async () => {
    const { api, template, send } = await createMailing()
    const stats = async () => (await api('GET', `/transactionals/${template.transactionalId}/stats`)).body.data
    const NO_REPORTS = { totalBounced: 0, totalComplaints: 0 }
    expect(await stats()).toEqual({
      created: template.createdAt,
      openRate: '0%',
      clickRate: '0%',
      totalMessagesSent: 0,
      ...NO_REPORTS,
    })
    const to = [uniqueAddress(), uniqueAddress(), uniqueAddress()]
    const sent = await Promise.all(to.map((one) => send(one, { order: '1' })))
    for (const { body } of sent) await untilCompleted(api, body.data.id)
    const mails = await Promise.all(to.map(async (one) => linksOf((await received(one))[0].html)))
    for (const _ of [1, 2]) for (const { pixel } of mails.slice(0, 2)) await get(pixel)
    for (const _ of [1, 2]) await get(mails[0]!.clicks[0]!)
    expect(await stats()).toEqual({
      created: template.createdAt,
      openRate: '67%',
      clickRate: '33%',
      totalMessagesSent: 3,
      ...NO_REPORTS,
    })
  })

  test('count the open of a mail once it is known to be sent, and stay readable when the template is removed', async () => {
    const { api, companyId, template, send } = await createMailing()
    const path = `/transactionals/${template.transactionalId}/stats`
    const rates = async () => (await api('GET', path)).body.data
    const first = await send(uniqueAddress(), { order: '1' })
    await untilCompleted(api, first.body.data.id)
    await control('PUT', '/behaviour', { refuseMailWith: 550 })
    const second = await send(uniqueAddress(), { order: '2' })
    await untilCompleted(api, second.body.data.id)
    const [email] = await db<{ companyId: number; id: number; secret: Buffer }[]>`
      select company_id, id, secret from emails where (company_id, uid) = (${companyId}, ${second.body.data.id})
    `
    // The server delivered a mail whose answer was lost.
    expect((await get(`/public/v1/o/${createToken(email!, 'open', 0)}`)).status).toBe(200)
    expect(await rates()).toMatchObject({ openRate: '0%', totalMessagesSent: 1 })
    await completeEmails(db, [{ companyId, id: email!.id, status: 'sent', failureReason: null }])
    expect(await rates()).toMatchObject({ openRate: '50%', totalMessagesSent: 2 })

    const removed = await operator('DELETE', `/companies/${companyId}/email-templates/${template.id}`)
    expect(removed.status).toBe(200)
    expect(await rates()).toMatchObject({ openRate: '50%', totalMessagesSent: 2 })
  })

  test('leave out what was refused', async () => {
    const { api, template, send } = await createMailing()
    await control('PUT', '/behaviour', { refuseMailWith: 550 })
    await untilCompleted(api, (await send(uniqueAddress())).body.data.id)
    expect((await api('GET', `/transactionals/${template.transactionalId}/stats`)).body.data.totalMessagesSent).toBe(0)
  })

  test('are read by key, not by scan, as are those of one mail', async () => {
    const { companyId, template } = await createMailing()
    const plans = await Promise.all([
      db.unsafe(
        `set enable_seqscan = off; explain select * from email_template_counts where (company_id, template_id) = (${companyId}, ${template.transactionalId})`,
      ),
      db.unsafe(
        `set enable_seqscan = off; explain select * from emails where (company_id, uid) = (${companyId}, 'eml_x')`,
      ),
    ])
    const lines = plans.flat(3).map((row) => JSON.stringify(row))
    expect(lines.filter((line) => line.includes('Index Scan using'))).toHaveLength(2)
    expect(lines.join()).not.toContain('Aggregate')
  })
})

describe('marketing', () => {
  const headersOf = async (to: string) => (await received(to))[0].headers as Record<string, string>
  const wayOut = async (to: string) =>
    /<http:\/\/[^/]+(\/public\/v1\/u\/[^>]+)>/.exec((await headersOf(to))['list-unsubscribe']!)![1]!

  test('offers the way out by one click, and takes it', async () => {
    const { api, key, send } = await createMailing({ category: 'MARKETING' })
    const email = uniqueAddress()
    const created = await api('POST', '/contacts', { email, marketingConsent: { email: true } })
    const stream = await openKeyStream(mailing.url, key.token)
    await untilCompleted(api, (await send(email)).body.data.id)
    expect((await headersOf(email))['list-unsubscribe-post']).toBe('List-Unsubscribe=One-Click')

    const path = await wayOut(email)
    // Scanners fetch it; a fetch alone unsubscribes no contact.
    const page = await get(path)
    expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('<form method="post">')])
    expect((await send(email)).status).toBe(200)

    const out = await get(path, {
      method: 'POST',
      body: 'List-Unsubscribe=One-Click',
      headers: { ...READER, 'content-type': 'application/x-www-form-urlencoded' },
    })
    expect(out.status).toBe(200)
    const contact = await api('GET', `/contacts/${created.body.data[0].id}`)
    expect(contact.body.data.marketing_consent.email).toBe(false)
    const event = await stream.next('contact', ({ marketing_consent }) => marketing_consent.email === false)
    expect(event).toEqual(contact.body.data)
    const refused = await send(email)
    expect([refused.status, refused.body.error.code]).toEqual([403, 'forbidden'])
    const [history] =
      await db`select source, value from consents where company_id > 0 and contact_id = ${created.body.data[0].id} order by id desc`
    expect(history).toMatchObject({ source: 'unsubscribe', value: false })
  })

  test('links the way out in the HTML and text of every kind of mail, untracked', async () => {
    const { api, send } = await createMailing({ category: 'MARKETING' })
    const email = uniqueAddress()
    await untilCompleted(api, (await send(email)).body.data.id)
    const [marketing] = await received(email)
    expect(marketing.html).toContain(`${await wayOut(email)}">Unsubscribe</a>`)
    expect(marketing.html).not.toContain('unsubscribe_url')

    const { arrived, to } = await deliver(api, {
      html: '<a href="{{unsubscribe_url}}">out</a><a href="%7B%7B%20unsubscribe_url%20%7D%7D">encoded</a>',
      text: 'Out: {{ unsubscribe_url }}',
    })
    const [link] = /http:\/\/[^/]+\/public\/v1\/u\/[\w-]+/.exec(arrived.text)!
    expect(arrived.html).toContain(`<a href="${link}">out</a><a href="${link}">encoded</a>`)
    await api('POST', '/contacts', { email: to, marketingConsent: { email: true } })
    expect((await get(new URL(link).pathname, { method: 'POST' })).status).toBe(200)
    const contact = await api('GET', `/contacts/by-email/${encodeURIComponent(to)}`)
    expect(contact.body.data.marketing_consent.email).toBe(false)
  })

  test('the way out also counts for who is no contact yet', async () => {
    const { api, send } = await createMailing({ category: 'MARKETING' })
    const email = uniqueAddress()
    await untilCompleted(api, (await send(email)).body.data.id)
    expect((await get(await wayOut(email), { method: 'POST' })).status).toBe(200)
    expect((await send(email.toUpperCase())).status).toBe(403)
  })

  test('does not go to who opts out while it waits', async () => {
    const { api, companyId, send } = await createMailing({ category: 'MARKETING' })
    const email = uniqueAddress()
    await control('PUT', '/behaviour', { refuseMailWith: 450 })
    const sent = await send(email)
    await eventually(
      async () =>
        (await db`select from jobs where company_id = ${companyId} and attempts = 1 and claim_id is null`).length > 0,
    )
    await control('PUT', '/behaviour', { refuseMailWith: null })
    await api('POST', '/contacts', { email, marketingConsent: { email: false } })
    await db`update jobs set due_at = now() where company_id = ${companyId}`
    expect(await untilCompleted(api, sent.body.data.id)).toMatchObject({
      status: 'failed',
      failureReason: expect.stringContaining('opted out'),
    })
    expect(await received(email)).toEqual([])
  })

  test('other mails go to every contact, without an unsubscribe link', async () => {
    const { api, send } = await createMailing()
    const email = uniqueAddress()
    await api('POST', '/contacts', { email, marketingConsent: { email: false } })
    const sent = await send(email)
    expect(sent.status).toBe(200)
    await untilCompleted(api, sent.body.data.id)
    expect(await headersOf(email)).not.toHaveProperty('list-unsubscribe')
  })
})
