import { once } from 'node:events'
import { buffer } from 'node:stream/consumers'
import { SMTPServer } from 'smtp-server'
import type { Clock } from '../clock.ts'
import type { World } from '../world/world.ts'

export type MailServer = { url: string; stop(): Promise<void> }

const SIZE_LIMIT = 30 * 1024 * 1024

/** A mail server that takes every mail to every address, with any credential or none, unless its behaviour says to refuse. */
export async function startMailServer(
  { world, clock }: { world: World; clock: Clock },
  port: number,
  host: string,
): Promise<MailServer> {
  const server = new SMTPServer({
    authOptional: true,
    allowInsecureAuth: true,
    disabledCommands: ['STARTTLS'],
    disableReverseLookup: true,
    logger: false,
    size: SIZE_LIMIT,
    onAuth: ({ username }, _session, done) => done(null, { user: username ?? 'anybody' }),
    onRcptTo: (_address, _session, done) => {
      const code = world.behaviour.refuseMailWith
      done(code === null ? null : Object.assign(new Error(wordsFor(code)), { responseCode: code }))
    },
    onData: (stream, { envelope }, done) => {
      buffer(stream).then(
        (raw) => {
          const from = envelope.mailFrom === false ? '' : envelope.mailFrom.address
          world.mails.add({ from, to: envelope.rcptTo.map(({ address }) => address), raw, at: clock.now() })
          world.feed.publish({ type: 'email' })
          done(null, 'OK: kept in the sandbox')
        },
        (error: Error) => done(error),
      )
    },
  })
  // A client that goes away in the middle is no fault of ours.
  server.on('error', () => {})
  const net = server.listen(port, host)
  if (!net.listening) await once(net, 'listening')
  const address = net.address()
  if (address === null || typeof address === 'string') throw new Error('The mail server has no port')
  const name = host.includes(':') ? `[${host}]` : host
  return {
    url: `smtp://${name}:${address.port}`,
    stop: () =>
      new Promise((stopped) => {
        for (const connection of server.connections) connection.close()
        server.close(() => stopped())
      }),
  }
}

const wordsFor = (code: number): string =>
  code < 500 ? '4.3.0 Try again later, says the sandbox' : '5.1.1 Mailbox unavailable, says the sandbox'
