import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { afterAll, expect, test } from 'vitest'
import { startForwardProxy } from '../../../test/forward-proxy.ts'
import { stopProcess } from '../../../test/held-handshakes.ts'
import {
  anyMessage,
  describeMailer,
  HASTY_MS,
  mail,
  type ReceivedMail,
  type ServerAnswer,
  yes,
} from '../mailer-suite.ts'
import { createPostmarkMailer } from './postmark-mailer.ts'

/** Status, error code and message of the API's documentation. */
const ANSWERS: Record<Exclude<ServerAnswer, 'drop' | 'hang'>, [number, number, string]> = {
  taken: [200, 0, 'taken'],
  'no room': [429, 0, 'no room'],
  'no mailbox': [422, 406, 'no mailbox'],
  'wrong login': [401, 10, 'wrong login'],
}

type Body = { To: string; HtmlBody: string; TextBody?: string; Subject: string; From: string; ReplyTo?: string } & {
  Headers: { Name: string; Value: string }[]
}

const readMail = (body: Body): ReceivedMail => {
  const headers = [
    ...body.Headers,
    { Name: 'Subject', Value: body.Subject },
    { Name: 'To', Value: body.To },
    ...(body.ReplyTo === undefined ? [] : [{ Name: 'Reply-To', Value: body.ReplyTo }]),
  ]
  return {
    to: [body.To],
    headerNames: headers.map(({ Name }) => Name.toLowerCase()),
    header: (name) => headers.filter(({ Name }) => Name.toLowerCase() === name).map(({ Value }) => Value),
    html: body.HtmlBody,
    text: body.TextBody ?? null,
  }
}

async function startServer(answer: ServerAnswer, beforeAnswer: () => Promise<unknown> = async () => {}) {
  const mails: ReceivedMail[] = []
  const tokens: unknown[] = []
  let open = 0
  let mostAtOnce = 0
  const server: Server = createServer(async (request, response) => {
    mostAtOnce = Math.max(mostAtOnce, ++open)
    tokens.push(request.headers['x-postmark-server-token'])
    // The documented shape of the API's request.
    const body = (await json(request)) as Body
    await beforeAnswer()
    open -= 1
    if (answer === 'drop') return request.socket.destroy()
    if (answer === 'hang') return undefined
    const [status, ErrorCode, Message] = ANSWERS[answer]
    if (answer === 'taken') mails.push(readMail(body))
    return response
      .writeHead(status, { 'content-type': 'application/json' })
      .end(JSON.stringify({ ErrorCode, Message }))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `postmark+http://token@127.0.0.1:${port}`,
    mails,
    tokens,
    mostAtOnce: () => mostAtOnce,
    dropAll: () => server.closeAllConnections(),
    stop: async () => {
      server.closeAllConnections()
      server.close()
    },
  }
}

describeMailer('Postmark', {
  create: createPostmarkMailer,
  deadUrl: 'postmark+http://token@127.0.0.1:1',
  startServer,
})

const mailer = createPostmarkMailer()
afterAll(() => mailer.close())

test('the token of the address authenticates the request', async () => {
  const { url, tokens, stop } = await startServer('taken')
  await mailer.send(url, mail(), yes)
  expect(tokens).toEqual(['token'])
  await stop()
})

test('a mail whose deadline passes before it is connected never arrives', async () => {
  const { url, mails, stop } = await startServer('taken')
  const hasty = createPostmarkMailer({ beforeEndMs: 60_000, afterEndMs: HASTY_MS })
  const outcome = hasty.send(url, mail(), yes)
  // Two turns later the socket connects, while nothing of this process runs.
  await new Promise((resolve) => process.nextTick(resolve))
  stopProcess(2 * HASTY_MS)
  expect(await outcome).toEqual({ kind: 'unavailable', fault: 'connection', message: anyMessage })
  expect(await mailer.send(url, mail({ subject: 'Next' }), yes)).toMatchObject({ kind: 'accepted' })
  expect(mails.map(({ header }) => header('subject'))).toEqual([['Next']])
  hasty.close()
  await stop()
})

test('a server without a trusted certificate gets no mail', async () => {
  const { url, mails, stop } = await startServer('taken')
  const outcome = await mailer.send(url.replace('+http', ''), mail(), yes)
  expect(outcome).toEqual({ kind: 'unavailable', fault: 'tls', message: anyMessage })
  expect(mails).toEqual([])
  await stop()
})

test('an address beyond ASCII before the @ is refused with the reason', async () => {
  const mailer = createPostmarkMailer()
  const outcome = await mailer.send('postmark+http://token@127.0.0.1:1', mail({ to: 'ünal@example.com' }), yes)
  expect(outcome).toEqual({ kind: 'refused', isTemporary: false, message: expect.stringContaining('SMTPUTF8') })
  mailer.close()
})

test('mails go through the proxy', async () => {
  const [proxy, { url, mails, stop }] = await Promise.all([startForwardProxy(), startServer('taken')])
  const proxied = createPostmarkMailer({ proxies: { http: proxy.url, https: undefined, except: '' } })
  const named = url.replace('127.0.0.1', 'postmark.test')
  expect(await proxied.send(named, mail(), yes)).toMatchObject({ kind: 'accepted' })
  expect(proxy.passed).toEqual([`POST http://${new URL(named).host}/email`])
  expect(mails).toHaveLength(1)
  proxied.close()
  proxied.close()
  await stop()
})
