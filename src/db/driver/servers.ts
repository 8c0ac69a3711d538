import { Client, escapeLiteral } from 'pg'
import type { DatabaseAddress } from './address.ts'
import { connectionError, DatabaseSession, withCode } from './session.ts'
import { watchSilence } from './silence.ts'

const CONNECT_TIMEOUT_MS = 3_000
const KEEP_ALIVE_MS = 5_000
const NO_TLS = 'N'.charCodeAt(0)

type Settings = Readonly<Record<string, string>>

export type ServerOptions = {
  address: DatabaseAddress
  /** Login parameters: only those accepted by every pooler. */
  startup: Settings
  settings: Settings
  answerTimeoutMs: number | undefined
  onNotice: (message: string, detail: string) => void
}

/** Opens sessions on the hosts of an address, at the last one that answered first. */
export class Servers {
  readonly #options: ServerOptions
  readonly #settings: string
  readonly #sessions = new Map<DatabaseSession, number>()
  #preferred = 0

  constructor(options: ServerOptions) {
    this.#options = options
    this.#settings = settingStatement(options.settings, this.isPooled)
  }

  get isPooled(): boolean {
    return this.#options.address.isPooled
  }

  get #count(): number {
    return this.#options.address.hosts.length
  }

  /** Opens a session. Tries each host once and rejects with the last error. */
  async connect(closing: AbortSignal): Promise<DatabaseSession> {
    const first = this.#preferred
    let failure = connectionError('CONNECTION_DESTROYED', 'The pool is closed')
    for (let i = 0; i < this.#count && !closing.aborted; i += 1) {
      const index = (first + i) % this.#count
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
    if (this.#preferred === host) this.#preferred = (host + 1) % this.#count
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
    const client = new Client({
      ...address.hosts[index],
      ...{ user, password, database, ssl, pipeline: true },
      ...startup,
      ...{ keepAlive: true, keepAliveInitialDelayMillis: KEEP_ALIVE_MS },
      enableChannelBinding: ssl !== false && channelBinding !== 'disable',
    })
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
    if (!this.isPooled) await client.query(this.#settings)
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
    const session = new DatabaseSession(client, this.isPooled ? this.#settings : undefined)
    session.lost.throwIfAborted()
    this.#sessions.set(session, index)
    session.lost.addEventListener('abort', () => this.#sessions.delete(session))
    const { answerTimeoutMs } = this.#options
    if (answerTimeoutMs !== undefined) watchSilence(session, answerTimeoutMs, () => this.#abandonHost(index))
    return session
  }
}

/** `set_config` takes every value as text, including lists such as `search_path`. */
function settingStatement(settings: Settings, isLocal: boolean): string {
  const calls = Object.entries(settings).map(
    ([name, value]) => `set_config(${escapeLiteral(name)}, ${escapeLiteral(value)}, ${isLocal})`,
  )
  return `select ${calls.join(', ')}`
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
