import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, describe, expect, test } from 'vitest'
import { type Deadlines, MAX_CONNECTIONS, type Mail, type Mailer, type MailOutcome } from './mailer.ts'

/** The behaviour of a server: accepts a mail, refuses it for now or for good, refuses the login, or never answers. */
export type ServerAnswer = 'taken' | 'no room' | 'no mailbox' | 'wrong login' | 'drop' | 'hang'

/** A mail as it came, parsed by code that shares nothing with the mailer. */
export type ReceivedMail = {
  to: string[]
  headerNames: string[]
  header(name: string): string[]
  html: string | null
  text: string | null
}

/** A server of the mailer's kind. */
export type SuiteServer = {
  url: string
  mails: ReceivedMail[]
  mostAtOnce(): number
  /** Ends every connection. */
  dropAll(): void
  stop(): Promise<void>
}

export type MailerUnderTest = {
  create: (deadlines: Deadlines) => Mailer
  startServer: (answer: ServerAnswer, beforeAnswer: () => Promise<unknown>) => Promise<SuiteServer>
  /** An address at which no server listens. */
  deadUrl: string
}

/** Deadlines that end a run that hangs: a server that answers is never too late, however busy the machine is. */
export const PATIENT: Deadlines = { beforeEndMs: 120_000, afterEndMs: 120_000 }
/** For servers that hang before or after the end of a mail. */
export const HASTY_MS = 500
/** Deadlines to try one after the other: a busy machine needs the longer ones, and a defect fails with each. */
const BUDGETS_MS = [1_000, 4_000, 16_000]
export const anyMessage = expect.stringMatching(/./)
export const yes = async () => true

let number = 0
/** A mail that no server has a reason to refuse. */
export const mail = (others: Partial<Mail> = {}): Mail => ({
  companyId: 1,
  messageId: `<${++number}@example.org>`,
  from: { name: 'Shop', address: 'shop@example.org' },
  to: 'ada@example.com',
  replyTo: null,
  subject: 'Hello',
  html: '<p>Hello</p>',
  text: null,
  headers: {},
  date: new Date('2026-01-01T00:00:00Z'),
  reportToken: null,
  returnPath: null,
  ...others,
})

/** The promises of the port, for every mailer. */
export function describeMailer(name: string, { create, startServer, deadUrl }: MailerUnderTest): void {
  describe.concurrent(`${name} as a mailer`, () => {
    const mailers: Mailer[] = []
    const createMailer = (deadlines: Partial<Deadlines> = {}) => {
      const mailer = create({ ...PATIENT, ...deadlines })
      mailers.push(mailer)
      return mailer
    }
    const mailer = createMailer()
    const servers: SuiteServer[] = []
    afterAll(async () => {
      for (const each of mailers) each.close()
      await Promise.all(servers.map((server) => server.stop()))
    })
    const start = async (answer: ServerAnswer = 'taken', beforeAnswer: () => Promise<unknown> = async () => {}) => {
      const server = await startServer(answer, beforeAnswer)
      servers.push(server)
      return server
    }

    test('is closed a second time without an error', async () => {
      const { url } = await start()
      const other = createMailer()
      expect(await other.send(url, mail(), yes)).toMatchObject({ kind: 'accepted' })
      other.close()
      await sleep(50)
      other.close()
    })

    test('a mail that the server takes is accepted, with its message', async () => {
      const { url, mails } = await start()
      const message = expect.stringContaining('taken')
      expect(await mailer.send(url, mail(), yes)).toEqual({ kind: 'accepted', message })
      expect(mails).toMatchObject([{ to: ['ada@example.com'], html: expect.stringContaining('<p>Hello</p>') }])
    })

    test.each([
      ['no room', { kind: 'refused', isTemporary: true }],
      ['no mailbox', { kind: 'refused', isTemporary: false }],
      ['wrong login', { kind: 'unavailable', fault: 'login' }],
    ] as const)('a server that says "%s" is quoted', async (answer, outcome) => {
      const { url, mails } = await start(answer)
      const message = expect.stringContaining(answer)
      expect(await mailer.send(url, mail(), yes)).toEqual({ ...outcome, message })
      expect(mails).toEqual([])
    })

    test('a server that does not listen is not reached', async () => {
      const outcome = { kind: 'unavailable', fault: 'connection', message: anyMessage }
      expect(await mailer.send(deadUrl, mail(), yes)).toEqual(outcome)
    })

    test.each([
      'drop',
      'hang',
    ] as const)('a server that has the mail and then answers with a %s: unknown', async (end) => {
      const { url } = await start(end)
      const mailer = createMailer(end === 'hang' ? { afterEndMs: HASTY_MS } : {})
      let asks = 0
      const confirm = async () => {
        asks += 1
        return true
      }
      expect(await mailer.send(url, mail(), confirm)).toMatchObject({ kind: 'unknown', message: anyMessage })
      expect(asks).toBe(1)
    })

    test.each([
      ['says no', async () => false, 'withheld'],
      ['fails', () => Promise.reject(new Error('the database is away')), 'unavailable'],
      ['comes too late', () => sleep(4 * HASTY_MS, true), 'unavailable'],
    ])('a mail whose confirmation %s is never submitted', async (name, confirmSubmission, kind) => {
      const { url, mails } = await start()
      const first = name === 'comes too late' ? createMailer({ beforeEndMs: HASTY_MS }) : mailer
      expect(await first.send(url, mail({ subject: 'never' }), confirmSubmission)).toMatchObject({ kind })
      expect(await mailer.send(url, mail(), yes)).toMatchObject({ kind: 'accepted' })
      expect(mails.map(({ header }) => header('subject'))).toEqual([['Hello']])
    })

    test('many mails at once take no more connections than allowed', async () => {
      const { url, mails, mostAtOnce } = await start()
      const many = Array.from({ length: MAX_CONNECTIONS * 5 }, () => mailer.send(url, mail(), yes))
      for (const outcome of await Promise.all(many)) expect(outcome).toMatchObject({ kind: 'accepted' })
      expect(mails).toHaveLength(MAX_CONNECTIONS * 5)
      expect(new Set(mails.flatMap(({ header }) => header('message-id'))).size).toBe(mails.length)
      expect(mostAtOnce()).toBeLessThanOrEqual(MAX_CONNECTIONS)
    })

    test('a server has longer for its answer to the end of a mail than for everything before', async () => {
      const accepted = { kind: 'accepted', message: expect.stringContaining('taken') }
      const outcome = await firstAccepted(async (beforeEndMs) => {
        const { url } = await start('taken', () => sleep(beforeEndMs + 500))
        return [await createMailer({ beforeEndMs }).send(url, mail(), yes)]
      })
      expect(outcome).toEqual([accepted])
    })

    test('a mail that waits for a connection loses none of its time', async () => {
      /** Confirms in batches: each takes less than half of the time that one mail has, all take more. */
      const outcomes = await firstAccepted(async (beforeEndMs) => {
        const { url } = await start()
        const slow = createMailer({ beforeEndMs })
        const held: (() => void)[] = []
        const confirmSubmission = () => new Promise<boolean>((confirm) => held.push(() => confirm(true)))
        const many = Array.from({ length: MAX_CONNECTIONS * 4 }, () => slow.send(url, mail(), confirmSubmission))
        const ticks = setInterval(() => {
          for (const confirm of held.splice(0)) confirm()
        }, beforeEndMs * 0.4)
        const ended = await Promise.all(many)
        clearInterval(ticks)
        return ended
      })
      for (const outcome of outcomes) expect(outcome).toMatchObject({ kind: 'accepted' })
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
  })
}

/** The outcomes with the shortest deadline with which a server accepts everything, else those with the longest. */
async function firstAccepted(run: (beforeEndMs: number) => Promise<MailOutcome[]>): Promise<MailOutcome[]> {
  let outcomes: MailOutcome[] = []
  for (const beforeEndMs of BUDGETS_MS) {
    outcomes = await run(beforeEndMs)
    if (outcomes.every(({ kind }) => kind === 'accepted')) return outcomes
  }
  return outcomes
}
