import { createTransport } from 'nodemailer'
import { expect } from 'vitest'
import { freePort } from '../free-port.ts'
import { startReceiver } from '../receiver.ts'
import { dsn } from './dsn.ts'
import { type Api, startMailing } from './email-world.ts'

export const DOMAIN = 'bounces.example.org'

export const SECRET = 'a secret of the reports'

export async function subscribe(api: Api, events: string[]) {
  const receiver = await startReceiver()
  const answer = await api('POST', '/webhooks/registrations', { name: 'R', url: receiver.url, events })
  expect(answer.status).toBe(201)
  return receiver
}

export const changesOf = (receiver: Awaited<ReturnType<typeof startReceiver>>) =>
  receiver.received.map(({ body }) => JSON.parse(String(body)))

export const contactOf = async (api: Api, email: string) =>
  (await api('GET', `/contacts/by-email/${encodeURIComponent(email)}`)).body.data

/** A mailing service that takes bounces at its own mail server. */
export async function startBounces() {
  const port = await freePort()
  const mailing = await startMailing({
    bounceDomain: DOMAIN,
    bounceSmtpPort: port,
    bounceSmtpHost: '127.0.0.1',
    mailReportsSecret: SECRET,
    webhookAllowPrivate: true,
  })
  const { createMailing, statsOf, deliver, operator, db, url, call, deps, get, linksOf, received } = mailing
  /** Sends a mail to a return path, as a mail server does. */
  async function report(to: string, raw: string | Buffer = dsn()): Promise<{ code: number; message: string }> {
    const transport = createTransport({ host: '127.0.0.1', port, ignoreTLS: true })
    return transport
      .sendMail({ envelope: { from: '', to: [to] }, raw })
      .then(
        ({ response }) => ({ code: Number(response.slice(0, 3)), message: response }),
        (error) => ({ code: error.responseCode, message: error.message }),
      )
      .finally(() => transport.close())
  }
  /** A mail that its server accepted, and the return path that it got. */
  async function mailed(api: Api, mail: object = {}) {
    const { id, to, arrived } = await deliver(api, mail)
    const returnPath: string = arrived.envelope.from
    expect(returnPath).toMatch(/^bounce\+[0-9a-f]{48}@bounces\.example\.org$/)
    return { id, to, returnPath }
  }
  return {
    port,
    mailing,
    createMailing,
    statsOf,
    operator,
    db,
    url,
    call,
    deps,
    get,
    linksOf,
    received,
    report,
    mailed,
  }
}
