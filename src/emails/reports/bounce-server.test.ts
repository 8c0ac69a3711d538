import { createConnection } from 'node:net'
import { createTransport } from 'nodemailer'
import { expect, test } from 'vitest'
import { dsn } from '../../../test/emails/dsn.ts'
import { atFileEnd } from '../../../test/file-end.ts'
import { createReportToken, returnPath } from '../tracking/tracking-token.ts'
import { createBounceServer } from './bounce-server.ts'

const DOMAIN = 'bounces.example.org'
const PATH = returnPath(DOMAIN, createReportToken({ companyId: 1, id: 2, secret: Buffer.alloc(32) }))

/** A server with these bounds that takes every token for that of a mail, unless told otherwise. */
async function start(
  bounds: Parameters<typeof createBounceServer>[1],
  isReportToken: () => Promise<boolean> = async () => true,
) {
  const outcomes: unknown[] = []
  const server = createBounceServer(
    {
      domain: DOMAIN,
      isReportToken,
      record: async (_token, report) => void outcomes.push(report),
      onIgnored: () => outcomes.push('ignored'),
      onFailure: (error) => outcomes.push(error),
    },
    bounds,
  )
  const port = await server.listen(0, '127.0.0.1')
  atFileEnd(server.close)
  return { port, outcomes }
}

/** A connection to the server, whose answers are read line by line. */
async function connect(port: number) {
  const socket = createConnection(port, '127.0.0.1').setEncoding('utf8')
  atFileEnd(async () => void socket.destroy())
  socket.on('error', () => {})
  const lines: string[] = []
  let wake = () => {}
  const ended = { value: false }
  socket.on('data', (text) => {
    lines.push(...String(text).split('\r\n').filter(Boolean))
    wake()
  })
  socket.on('close', () => {
    ended.value = true
    wake()
  })
  const until = async (condition: () => boolean) => {
    while (!condition()) await new Promise<void>((resolve) => (wake = resolve))
  }
  return {
    socket,
    lines,
    next: async () => {
      await until(() => lines.length > 0 || ended.value)
      return lines.shift()
    },
    closed: () => until(() => ended.value),
  }
}

async function send(port: number, raw: string): Promise<string> {
  const transport = createTransport({ host: '127.0.0.1', port, ignoreTLS: true })
  return transport
    .sendMail({ envelope: { from: '', to: [PATH] }, raw })
    .then(({ response }) => response)
    .finally(() => transport.close())
}

test('refuses the connections of an address beyond its quarter, and takes others when these have ended', async () => {
  const { port } = await start({ connectionsOfAddress: 2 })
  const first = await connect(port)
  expect(await first.next()).toMatch(/^220/)
  const second = await connect(port)
  expect(await second.next()).toMatch(/^220/)
  const third = await connect(port)
  expect(await third.next()).toMatch(/^421/)
  await third.closed()
  first.socket.destroy()
  await expect.poll(async () => (await connect(port)).next()).toMatch(/^220/)
})

test('looks up two recipients at a time, and none that cannot be a return path', async () => {
  const asked: PromiseWithResolvers<boolean>[] = []
  const { port } = await start({}, () => {
    const answer = Promise.withResolvers<boolean>()
    asked.push(answer)
    return answer.promise
  })
  const named = async (address: string) => {
    const connection = await connect(port)
    await connection.next()
    for (const command of ['HELO mx.example.com', 'MAIL FROM:<>', `RCPT TO:<${address}>`]) {
      connection.socket.write(`${command}\r\n`)
      if (!command.startsWith('RCPT')) await connection.next()
    }
    return connection
  }
  const waiting = []
  for (let n = 0; n < 5; n += 1) waiting.push(await named(PATH))
  const malformed = await named(`bounce+${'z'.repeat(48)}@${DOMAIN}`)
  for (let answered = 0; answered < waiting.length; answered += 1) {
    await expect.poll(() => asked.length).toBeGreaterThan(answered)
    expect(asked.length - answered).toBeLessThanOrEqual(2)
    asked[answered]?.resolve(false)
  }
  for (const connection of [...waiting, malformed]) expect(await connection.next()).toMatch(/^550/)
  expect(asked).toHaveLength(waiting.length)
})

test('ends a session that lasts too long', async () => {
  const { port } = await start({ sessionMs: 500 })
  const connection = await connect(port)
  await connection.closed()
})

test('ends a session that sends too much, and records nothing of it', async () => {
  const { port, outcomes } = await start({ sessionBytes: 100_000 })
  const { socket, next, closed } = await connect(port)
  expect(await next()).toMatch(/^220/)
  for (const command of ['HELO mx.example.com', 'MAIL FROM:<>', `RCPT TO:<${PATH}>`, 'DATA']) {
    socket.write(`${command}\r\n`)
    expect(await next()).toMatch(/^[23]5[04]/)
  }
  socket.write(`${dsn().slice(0, -9)}${'x'.repeat(200_000)}`)
  await closed()
  expect(outcomes).toEqual([])
})

test('refuses a mail whose sender announces more than half of that', async () => {
  const { port } = await start({ sessionBytes: 10_000 })
  const transport = createTransport({ host: '127.0.0.1', port, ignoreTLS: true })
  atFileEnd(() => transport.close())
  const envelope = { from: '', to: [PATH], size: 5_001 }
  await expect(transport.sendMail({ envelope, raw: dsn() })).rejects.toThrow('larger than allowed 5000')
})

test('a mail of many short lines holds up no other work: its first lines are read', async () => {
  const { port, outcomes } = await start({})
  const parts = '\r\n\r\n--b\r\nContent-Type: message/delivery-status\r\n\r\n'
  const fields = 'a:\r\n\r\n'.repeat(40_000)
  const failure = 'Action: failed\r\nStatus: 5.1.1\r\n\r\n'
  expect(await send(port, `Content-Type: multipart/report; boundary="b"${parts}${fields}${failure}`)).toMatch(/^250/)
  expect(outcomes).toEqual(['ignored'])
  expect(await send(port, dsn({ more: 'x\r\n'.repeat(100_000) }))).toMatch(/^250/)
  expect(outcomes).toEqual(['ignored', { kind: 'bounce', isPermanent: true, message: '550 5.1.1 No such user' }])
})

test('reads a report after a long first part', async () => {
  const { port, outcomes } = await start({})
  const [before = '', ...parts] = dsn().split('The mail could not be delivered.')
  await send(port, [before, 'A line of the explanation.\r\n'.repeat(12_000), ...parts].join(''))
  expect(outcomes).toEqual([{ kind: 'bounce', isPermanent: true, message: '550 5.1.1 No such user' }])
})
