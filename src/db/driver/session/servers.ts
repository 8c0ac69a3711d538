import { createConnection } from 'node:net'
import { Client } from 'pg'
import type { DatabaseAddress, Host } from './address.ts'
import {
  connectionError,
  DatabaseSession,
  type SettingStatement,
  type Settings,
  settingStatement,
  type Watch,
  withCode,
} from './database-session.ts'

const CONNECT_TIMEOUT_MS = 3_000
const KEEP_ALIVE_MS = 5_000
/** Share of `answerTimeoutMs` spent probing whether the server answers others. */
const PROBE_SHARE = 0.4
const NO_TLS = 'N'.charCodeAt(0)

export type ServerOptions = {
  address: DatabaseAddress
  /** Login parameters: only those accepted by every pooler. */
  startup: Settings
  settings: Settings
  answerTimeoutMs: number | undefined
  onNotice: (message: string, detail: string) => void
}

class LoginClient extends Client {
  startup: Settings = {}

  getStartupConf(): Record<string, string | undefined> {
    return { user: this.user, database: this.database, ...this.startup }
  }
}

export class Servers {
  readonly #options: ServerOptions
  readonly #sessions = new Map<DatabaseSession, number>()
  readonly #settings: SettingStatement
  #preferred = 0

  constructor(options: ServerOptions) {
    this.#options = options
    this.#settings = settingStatement(options.settings, { isLocal: this.isPooled })
  }

  get isPooled(): boolean {
    return this.#options.address.isPooled
  }

  get #hosts(): Host[] {
    return this.#options.address.hosts
  }

  get count(): number {
    return this.#hosts.length
  }

  /** Opens a session. Tries each host once and rejects with the last error. */
  async connect(closing: AbortSignal): Promise<DatabaseSession> {
    const first = this.#preferred
    let failure = connectionError('CONNECTION_DESTROYED', 'The pool is closed')
    for (let i = 0; i < this.count && !closing.aborted; i += 1) {
      const index = (first + i) % this.count
      try {
        const session = await this.#open(index, closing)
        this.#preferred = index
        return session
      } catch (error) {
        if (!(error instanceof Error)) throw error
        failure = withCode(error)
      }
    }
    throw failure
  }

  #abandonHost(host: number): void {
    if (this.#preferred === host) this.#preferred = (host + 1) % this.count
    const error = connectionError('ETIMEDOUT', 'The server does not answer')
    for (const [session, index] of [...this.#sessions]) if (index === host) session.destroy(error)
  }

  async #open(index: number, closing: AbortSignal): Promise<DatabaseSession> {
    const { tls } = this.#options.address
    if (tls !== 'prefer') return this.#openWith(index, tls, closing)
    try {
      return await this.#openWith(index, { rejectUnauthorized: false }, closing)
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'TLS_NOT_SUPPORTED') {
        return this.#openWith(index, false, closing)
      }
      throw error
    }
  }

  async #openWith(
    index: number,
    ssl: Exclude<DatabaseAddress['tls'], 'prefer'>,
    closing: AbortSignal,
  ): Promise<DatabaseSession> {
    const { address, startup, onNotice } = this.#options
    const { user, password, database, channelBinding } = address
    const client = new LoginClient({
      ...this.#hosts[index],
      ...{ user, password, database, ssl, pipeline: true },
      ...{ keepAlive: true, keepAliveInitialDelayMillis: KEEP_ALIVE_MS },
      enableChannelBinding: ssl !== false && channelBinding !== 'disable',
    })
    client.startup = startup
    if (channelBinding === 'require') requireChannelBinding(client)
    client.on('error', () => {})
    client.on('notice', ({ message, detail }) => onNotice(String(message), detail ?? ''))
    let hasTls = true
    if (ssl !== false)
      client.connection.stream.once('data', ([answer]) => {
        hasTls = answer !== NO_TLS
      })
    const end = (error: Error) => client.connection.stream.destroy(error)
    const timeout = connectionError('CONNECT_TIMEOUT', `${client.host}:${client.port} does not answer`)
    const timer = setTimeout(end, CONNECT_TIMEOUT_MS, timeout)
    const onClosing = () => end(connectionError('CONNECTION_DESTROYED', 'The pool is closed'))
    closing.addEventListener('abort', onClosing)
    try {
      await client.connect()
      await Promise.all([this.#setForSession(client), this.#expectAttributes(client)])
      return this.#createSession(client, index)
    } catch (error) {
      client.connection.stream.destroy()
      throw hasTls ? error : connectionError('TLS_NOT_SUPPORTED', 'The server does not support TLS', error)
    } finally {
      clearTimeout(timer)
      closing.removeEventListener('abort', onClosing)
    }
  }

  /** Poolers refuse settings sent with the login. */
  async #setForSession(client: Client): Promise<void> {
    if (!this.isPooled) await client.query(this.#settings.text, this.#settings.values)
  }

  async #expectAttributes(client: Client): Promise<void> {
    const { attributes } = this.#options.address
    if (attributes === 'any') return
    const { rows } = await client.query<{ isStandby: boolean; isReadOnly: boolean }>(
      `select pg_is_in_recovery() as "isStandby", current_setting('transaction_read_only')::boolean as "isReadOnly"`,
    )
    const [server] = rows
    const isReadOnly = server?.isReadOnly === true
    const isStandby = server?.isStandby === true
    const fits = { 'read-write': !isReadOnly, 'read-only': isReadOnly, primary: !isStandby, standby: isStandby }
    if (!fits[attributes]) throw connectionError('CONNECTION_DESTROYED', `The server is not ${attributes}`)
  }

  #createSession(client: Client, index: number): DatabaseSession {
    const settings = this.isPooled ? this.#settings : undefined
    const session = new DatabaseSession(client, this.#watchOf(client, index), settings)
    this.#sessions.set(session, index)
    client.once('end', () => this.#sessions.delete(session))
    return session
  }

  #watchOf({ host, port }: Client, index: number): Watch | undefined {
    const { answerTimeoutMs } = this.#options
    if (answerTimeoutMs === undefined) return undefined
    const place: ServerAddress = host.startsWith('/') ? { path: `${host}/.s.PGSQL.${port}` } : { host, port }
    return {
      answerMs: answerTimeoutMs * (1 - PROBE_SHARE),
      isAlive: () => answersProbe(place, answerTimeoutMs * PROBE_SHARE),
      onSilentServer: () => this.#abandonHost(index),
    }
  }
}

type ServerAddress = { path: string } | { host: string; port: number }

/** PostgreSQL answers one byte, from a newly forked process. */
const SSL_REQUEST = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47])

/** Returns whether a server answers a new connection in time, without a login: a frozen one does not. */
function answersProbe(place: ServerAddress, timeoutMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection(place)
    const end = (answered: boolean) => {
      clearTimeout(timer)
      socket.destroy()
      resolve(answered)
    }
    const timer = setTimeout(end, timeoutMs, false)
    socket.once('data', () => end(true))
    socket.once('close', () => end(false))
    socket.on('error', () => {})
    socket.write(SSL_REQUEST)
  })
}

const BOUND_MECHANISM = 'SCRAM-SHA-256-PLUS'

/**
 * Ends an unbound connection, before sending a password: TLS might end at a proxy. `pg` accepts whatever is offered.
 */
function requireChannelBinding({ connection }: Client): void {
  let isBound = false
  const refuse = () => {
    const message = 'The server offers no login that is bound to the TLS connection'
    connection.emit('error', connectionError('CHANNEL_BINDING_NOT_SUPPORTED', message))
    connection.stream.destroy()
  }
  // Must run before `pg`'s listeners, which send the password: writes to a destroyed stream are dropped.
  connection.prependListener('authenticationCleartextPassword', refuse)
  connection.prependListener('authenticationMD5Password', refuse)
  connection.prependListener('authenticationSASL', ({ mechanisms }: { mechanisms: string[] }) => {
    if (!mechanisms.includes(BOUND_MECHANISM)) refuse()
  })
  // Must run after `pg`'s listener, which checks the server signature.
  connection.on('authenticationSASLFinal', () => {
    isBound = true
  })
  connection.on('authenticationOk', () => {
    if (!isBound) refuse()
  })
}
