import { randomBytes } from 'node:crypto'
import { beforeEach, expect } from 'vitest'
import type { Config } from '../../src/platform/settings/config.ts'
import { eventually, startTestService } from '../service.ts'

export const READER = { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0' }
export const MAIL = { to: 'ada@example.com', subject: 'Your order', html: '<p>Hello</p>', from: 'shop@example.org' }

type Service = Awaited<ReturnType<typeof startTestService>>
export type Api = Awaited<ReturnType<Service['createCompany']>>['api']

export const uniqueAddress = () => `ada-${randomBytes(6).toString('hex')}@example.com`

/** The service with its sandbox’s mail server, and what tests of mails do with them. Call it at the top of a file. */
export async function startMailing(config: Partial<Config> = {}, { mirrors = true } = {}) {
  const service = await startTestService({ config, mirrors })
  const { createCompany, control, operator, db, url } = service
  beforeEach(() => control('PUT', '/behaviour', { refuseMailWith: null }))

  const statsOf = async (api: Api, id: string) => (await api('GET', `/emails/${id}/stats`)).body.data
  const untilCompleted = (api: Api, id: string) =>
    eventually(async () => {
      const stats = await statsOf(api, id)
      return stats.status !== 'pending' && stats
    })
  const received = async (to: string) =>
    (await control('GET', '/emails?limit=10000')).body.filter((mail: { to: string }) => mail.to.includes(to))

  /** A mail that arrived, sent by this company. */
  async function deliver(api: Api, mail: object = {}) {
    const to = uniqueAddress()
    const sent = await api('POST', '/emails', { ...MAIL, to, ...mail })
    expect(sent.status).toBe(201)
    const { id } = sent.body.data
    await untilCompleted(api, id)
    const [arrived] = await received(to)
    return { id, to, arrived, links: linksOf(arrived.html) }
  }

  /** The paths of the tracked links and of the pixel. */
  function linksOf(html: string) {
    const paths = [...html.matchAll(/(?:href|src)="?http:\/\/[^/]+(\/public\/v1\/[co]\/[^"]+)"/g)].map(
      ([, path]) => path!,
    )
    return {
      clicks: paths.filter((path) => path.includes('/c/')),
      pixel: paths.find((path) => path.includes('/o/'))!,
    }
  }

  const get = (path: string, init: RequestInit = {}) =>
    fetch(`${url}${path}`, { redirect: 'manual', headers: READER, ...init })

  /** As if it had been sent a while ago, so that a fetch is not taken for a machine's. */
  const age = () =>
    db`update emails set completed_at = completed_at - interval '1 minute' where completed_at is not null and company_id > 0`

  async function createMailing(input: { settings?: object | null; category?: string } = {}) {
    const company = await createCompany({ isConnected: false })
    const path = `/companies/${company.companyId}`
    if (input.settings !== null) {
      await operator('PUT', `${path}/email-settings`, { from: 'shop@example.org', fromName: 'Shop', ...input.settings })
    }
    const template = await operator('POST', `${path}/email-templates`, {
      name: 'Order update',
      subject: 'Order {{ order }}',
      html: `<p>Hello {{ name }}, <a href="https://shop.example/orders/{{ order }}">your order</a></p>${
        input.category === 'MARKETING' ? '<a href="{{ unsubscribe_url }}">Unsubscribe</a>' : ''
      }`,
      text: 'Hello {{ name }}',
      ...(input.category && { category: input.category }),
    })
    expect(template.status).toBe(201)
    const send = (recipient: string, customFields?: object) =>
      company.api('POST', '/templates/email/send', {
        uid: template.body.id,
        recipient,
        ...(customFields && { customFields }),
      })
    return { ...company, template: template.body, send }
  }

  return { ...service, statsOf, untilCompleted, received, deliver, linksOf, get, age, createMailing }
}
