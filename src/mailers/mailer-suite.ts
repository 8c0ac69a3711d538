import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { createCertificate } from '../../test/certificate.ts'
import { type Doing, type MailServer, type Moment, startMailServer } from '../../test/mail-server.ts'
import { MAX_CONNECTIONS, type Mail, type Mailer } from './mailer.ts'

/** Makes a mailer whose servers have this long, before and after the end of a mail. */
type Create = (deadlines: { beforeEndMs: number; afterEndMs: number }) => Mailer

const BEFORE_END_MS = 1_500
const AFTER_END_MS = 4_000
const anyWords = expect.stringMatching(/./)
const yes = async () => true

let number = 0
/** A mail that no server has a reason to refuse. */
export const mail = (others: Partial<Mail> = {}): Mail => ({
  messageId: `<${++number}@example.org>`,
  from: { name: 'Shop', address: 'shop@example.org' },
  to: 'ada@example.com',
  replyTo: null,
  subject: 'Hello',
  html: '<p>Hello</p>',
  text: null,
  headers: {},
  date: new Date('2026-01-01T00:00:00Z'),
  ...others,
})

/** The promises of the port, for every mailer. */
export function describeMailer(name: string, create: Create): void {
  describe(`${name} as a mailer`, () => {
    const mailer = create({ beforeEndMs: BEFORE_END_MS, afterEndMs: AFTER_END_MS })
    const servers: MailServer[] = []
    afterEach(() => Promise.all(servers.splice(0).map((server) => server.stop())))
    afterAll(() => mailer.close())

    const start = async (options: Parameters<typeof startMailServer>[0] = {}) => {
      const server = await startMailServer(options)
      servers.push(server)
      return server
    }
    const startAt = (moment: Moment, doing: Doing) => start({ behave: (now) => (now === moment ? doing : undefined) })

    test('a mail that the server takes is accepted, in its words', async () => {
      const { url, mails } = await start()
      expect(await mailer.send(url, mail(), yes)).toEqual({ kind: 'accepted', words: '250 taken' })
      expect(mails).toMatchObject([{ to: ['ada@example.com'], html: expect.stringContaining('<p>Hello</p>') }])
    })

    test.each<[Moment, number, boolean]>([
      ['MAIL', 451, true],
      ['MAIL', 553, false],
      ['RCPT', 450, true],
      ['RCPT', 550, false],
      ['END', 452, true],
      ['END', 554, false],
    ])('%s answered with %i: temporary %s, in the words of the server', async (moment, code, isTemporary) => {
      const { url } = await startAt(moment, { code, words: 'says the server' })
      const words = expect.stringMatching(new RegExp(`${code} .*says the server`))
      expect(await mailer.send(url, mail(), yes)).toEqual({ kind: 'refused', isTemporary, words })
    })

    test.each<[Moment, number, string]>([
      ['greeting', 421, 'greeting'],
      ['greeting', 554, 'greeting'],
      ['MAIL', 530, 'login'],
      ['MAIL', 538, 'login'],
      ['RCPT', 535, 'login'],
    ])('%s answered with %i is a fault of the server (%s), in its words', async (moment, code, fault) => {
      const { url } = await startAt(moment, { code, words: 'says the server' })
      const words = expect.stringMatching(new RegExp(`${code} .*says the server`))
      expect(await mailer.send(url, mail(), yes)).toEqual({ kind: 'unavailable', fault, words })
    })

    test('a refused login is a fault of the server, in its words', async () => {
      const server = {
        onAuth: (_auth: unknown, _session: unknown, done: (error: Error) => void) =>
          done(Object.assign(new Error('Authentication failed'), { responseCode: 535 })),
      }
      const { url, mails } = await start({ server })
      const withLogin = url.replace('smtp://', 'smtp://user:wrong@')
      expect(await mailer.send(withLogin, mail(), yes)).toEqual({
        kind: 'unavailable',
        fault: 'login',
        words: expect.stringMatching(/^535 .*Authentication failed/),
      })
      expect(mails).toEqual([])
    })

    test('the connection is not given up for a mail that is refused', async () => {
      let refusals = 5
      const { url, sessions } = await start({
        behave: (moment) => (moment === 'RCPT' && refusals-- > 0 ? { code: 550, words: 'no' } : undefined),
      })
      for (const kind of ['refused', 'accepted']) {
        for (let sent = 0; sent < 5; sent += 1) expect(await mailer.send(url, mail(), yes)).toMatchObject({ kind })
      }
      // A second one serves while the first forgets the mail that was refused.
      expect(sessions.size).toBeLessThanOrEqual(2)
    })

    test('a server that does not listen is not reached', async () => {
      expect(await mailer.send('smtp://127.0.0.1:1', mail(), yes)).toEqual({
        kind: 'unavailable',
        fault: 'connection',
        words: anyWords,
      })
    })

    test.each<[Moment, Doing, string, number]>([
      ['greeting', 'drop', 'unavailable', 0],
      ['MAIL', 'drop', 'unavailable', 0],
      ['RCPT', 'drop', 'unavailable', 0],
      ['END', 'drop', 'unknown', 1],
      ['greeting', 'hang', 'unavailable', 0],
      ['RCPT', 'hang', 'unavailable', 0],
      ['END', 'hang', 'unknown', 1],
    ])('at %s a %s: %s', async (moment, doing, kind, asked) => {
      const { url } = await startAt(moment, doing)
      let asks = 0
      const confirmSubmission = async () => {
        asks += 1
        return true
      }
      expect(await mailer.send(url, mail(), confirmSubmission)).toMatchObject({ kind, words: anyWords })
      // The submission is asked for after the server accepts the mail, and once.
      expect(asks).toBe(asked)
    })

    test.each([
      ['says no', async () => false, 'withheld'],
      ['fails', () => Promise.reject(new Error('the database is away')), 'unavailable'],
      ['comes too late', () => new Promise<boolean>((say) => setTimeout(say, 2 * BEFORE_END_MS, true)), 'unavailable'],
    ])('a mail whose submission %s is never ended', async (_name, confirmSubmission, kind) => {
      const { url, mails } = await start()
      expect(await mailer.send(url, mail({ subject: 'never' }), confirmSubmission)).toMatchObject({ kind })
      expect(await mailer.send(url, mail(), yes)).toMatchObject({ kind: 'accepted' })
      expect(mails.map(({ header }) => header('subject'))).toEqual([['Hello']])
    })

    test('a mail that is too big for the server is refused for good', async () => {
      const { url, mails } = await start({ server: { size: 10_000 } })
      const html = `<p>${'long '.repeat(10_000)}</p>`
      expect(await mailer.send(url, mail({ html }), yes)).toMatchObject({ kind: 'refused', isTemporary: false })
      expect(mails).toEqual([])
    })

    test('TLS is used where the server offers it, and from the start where the address says so', async () => {
      for (const scheme of ['smtp', 'smtps'] as const) {
        const server = { ...createCertificate(), secure: scheme === 'smtps' }
        const { url, mails } = await start({ scheme, server })
        const trusting = `${url}?tls.rejectUnauthorized=false`
        expect(await mailer.send(trusting, mail(), yes)).toMatchObject({ kind: 'accepted' })
        expect(mails).toMatchObject([{ isSecure: true }])
      }
    })

    test('a certificate that is not trusted gets no mail', async () => {
      for (const scheme of ['smtp', 'smtps'] as const) {
        const server = { ...createCertificate(), secure: scheme === 'smtps' }
        const { url, mails } = await start({ scheme, server })
        expect(await mailer.send(url, mail(), yes)).toEqual({ kind: 'unavailable', fault: 'tls', words: anyWords })
        expect(mails).toEqual([])
      }
    })

    test('a server without TLS gets no mail where the address requires it', async () => {
      const { url, mails } = await start()
      expect(await mailer.send(`${url}?requireTLS=true`, mail(), yes)).toMatchObject({
        kind: 'unavailable',
        fault: 'tls',
      })
      expect(mails).toEqual([])
    })

    test('connections are used again, and no more of them than allowed', async () => {
      const { url, mails, sessions, mostAtOnce } = await start()
      const many = Array.from({ length: MAX_CONNECTIONS * 5 }, () => mailer.send(url, mail(), yes))
      for (const outcome of await Promise.all(many)) expect(outcome).toMatchObject({ kind: 'accepted' })
      expect(mails).toHaveLength(MAX_CONNECTIONS * 5)
      expect(new Set(mails.flatMap(({ header }) => header('message-id'))).size).toBe(mails.length)
      expect(sessions.size).toBeLessThanOrEqual(MAX_CONNECTIONS)
      expect(mostAtOnce()).toBeLessThanOrEqual(MAX_CONNECTIONS)
    })

    test('a server has longer for its answer to the end of a mail than for everything before', async () => {
      const { url, mails } = await start({ beforeAnswer: () => sleep(BEFORE_END_MS + 500) })
      expect(await mailer.send(url, mail(), yes)).toEqual({ kind: 'accepted', words: '250 taken' })
      expect(mails).toHaveLength(1)
    })

    test('a mail that waits for a connection loses none of its time', async () => {
      // Each batch takes most of the time that one mail has.
      const held: (() => void)[] = []
      const { url } = await start()
      const confirmSubmission = () => new Promise<boolean>((say) => held.push(() => say(true)))
      const many = Array.from({ length: MAX_CONNECTIONS * 3 }, () => mailer.send(url, mail(), confirmSubmission))
      const letting = setInterval(() => {
        for (const letGo of held.splice(0)) letGo()
      }, BEFORE_END_MS * 0.6)
      for (const outcome of await Promise.all(many)) expect(outcome).toMatchObject({ kind: 'accepted' })
      clearInterval(letting)
    })

    test('a connection that its server has ended meanwhile costs no mail', async () => {
      const server = await start()
      expect(await mailer.send(server.url, mail(), yes)).toMatchObject({ kind: 'accepted' })
      server.dropAll()
      expect(await mailer.send(server.url, mail(), yes)).toMatchObject({ kind: 'accepted' })
      expect(server.mails).toHaveLength(2)
    })

    test('nothing that a mail says becomes a header or a recipient', async () => {
      const { url, mails } = await start()
      const evil = 'Hi\r\nBcc: evil@evil.example\nX-Evil: 1\u2028X-Evil: 2\0'
      const from = { name: evil, address: 'shop@example.org' }
      const html = '.\r\n.\r\nMAIL FROM:<evil@evil.example>\r\n.\n.\r'
      const outcome = await mailer.send(url, mail({ subject: evil, from, html, headers: { 'X-Order': evil } }), yes)
      expect(outcome).toMatchObject({ kind: 'accepted' })
      expect(mails).toHaveLength(1)
      expect(mails[0]?.to).toEqual(['ada@example.com'])
      expect(mails[0]?.headerNames).not.toContain('bcc')
      expect(mails[0]?.headerNames).not.toContain('x-evil')
      expect(mails[0]?.header('to')).toEqual(['ada@example.com'])
    })

    test('its id, its date and its text go out as they are given', async () => {
      const { url, mails } = await start()
      const one = mail({ text: 'Grüße', html: '<p>Grüße 🎉</p>', replyTo: 'help@example.org', subject: 'Grüße 🎉' })
      await mailer.send(url, one, yes)
      const [arrived] = mails
      expect(arrived).toMatchObject({ text: one.text, html: one.html })
      expect(arrived?.header('message-id')).toEqual([one.messageId])
      expect(arrived?.header('subject')).toEqual([one.subject])
      expect(arrived?.header('reply-to')).toEqual(['help@example.org'])
      expect(arrived?.header('date')).toEqual(['Thu, 01 Jan 2026 00:00:00 +0000'])
    })

    test('nothing of a mail is read from a file or an address', async () => {
      const { url, mails } = await start()
      const html = '<img src="file:///etc/passwd"><img src="https://example.com/x.png">'
      await mailer.send(url, mail({ html }), yes)
      expect(mails[0]?.html?.trim()).toBe(html)
    })
  })
}
