import { Client } from 'pg'
import { answersProbe, type ServerAddress } from '../../pool/probe.ts'
import type { DatabaseAddress, Host } from './address.ts'
import { requireChannelBinding } from './channel-binding.ts'
import { connectionError, withCode } from './connection-error.ts'
import { DatabaseSession, type Watch } from './database-session.ts'
import { type SettingStatement, type Settings, settingStatement } from './settings.ts'

/** How long a host has to accept the connection and the login. */
const CONNECT_TIMEOUT_MS = 3_000
/** The idle time after which TCP checks whether the other machine is still there. */
const KEEP_ALIVE_MS = 5_000
/** The share of `answerTimeoutMs` for the probe whether the server still answers others. */
const PROBE_SHARE = 0.4
/** The answer of a server without TLS. */
const NO_TLS = 'N'.charCodeAt(0)

export type ServerOptions = {
  address: DatabaseAddress
  /** Parameters of the login: only those that every pooler takes. */
  startup: Settings
  /** Settings of each session; where connections share sessions, of each transaction. */
  settings: Settings
  /** How long a silent server is waited for. Undefined: without a limit. */
  answerTimeoutMs: number | undefined
  onNotice: (message: string, detail: string) => void
}

/** A client of `pg` that sends parameters with the login. */
class LoginClient extends Client {
  startup: Settings = {}

  getStartupConf(): Record<string, string | undefined> {
    return { user: this.user, database: this.database, ...this.startup }
  }
}

/** The servers of an address. New connections begin with the host that answered last. */
export class Servers {
  readonly #options: ServerOptions
  readonly #sessions = new Map<DatabaseSession, number>()
  readonly #settings: SettingStatement
  #preferred = 0

  constructor(options: ServerOptions) {
    this.#options = options
    this.#settings = settingStatement(options.settings, { isLocal: this.isPooled })
  }

  /** Whether connections share the sessions of the server. */
  get isPooled(): boolean {
    return this.#options.address.isPooled
  }

  get #hosts(): Host[] {
    return this.#options.address.hosts
  }

  get count(): number {
    return this.#hosts.length
  }

  /**
   * Opens a session. Tries each host once, and rejects with the error of the last.
   *
   * @param closing ends the attempt
   */
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

  /** A host does not answer at all: its connections are lost, and new ones begin with another host. */
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

  /** After the login, since poolers refuse settings that come with it. */
  async #setForSession(client: Client): Promise<void> {
    if (!this.isPooled) await client.query(this.#settings.text, this.#settings.values)
  }

  /** Of several hosts, one is used that `target_session_attrs` asks for. */
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
