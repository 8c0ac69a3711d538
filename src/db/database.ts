import { codeOf, messageOf, StartError } from '../platform/start-error.ts'
import { type ConnectOptions, connect, type Pool } from './connect.ts'
import { joinEmbedded, type StartEvents, startEmbedded } from './embedded/start.ts'
import { markPooler } from './pooler.ts'

export type Database = {
  url: string
  stop(): Promise<void>
  ended: Promise<StartError>
}

const DRAIN_SECONDS = 5
/** Shared by all hosts of an external database. */
const ANSWER_DEADLINE_MS = 10_000

type Place = { databaseUrl: string | undefined; dataDir: string }

/** Opens the database at `databaseUrl` once it answers, else starts the embedded server. */
export const openDatabase = (
  { databaseUrl, dataDir, processes = 1 }: Place & { processes?: number },
  events?: StartEvents,
): Promise<Database> =>
  databaseUrl === undefined
    ? startEmbedded(dataDir, { max_connections: String(connectionsFor(processes)) }, events)
    : openOwn(databaseUrl)

/** Each process holds up to 14 connections; commands and psql need some too. */
const connectionsFor = (processes: number): number => Math.max(100, 20 * (processes + 1))

/** Opens the database for a short command, while a service may be running on it. */
export const joinDatabase = ({ databaseUrl, dataDir }: Place): Promise<Database> =>
  databaseUrl === undefined ? joinEmbedded(dataDir) : openOwn(databaseUrl)

async function openOwn(databaseUrl: string): Promise<Database> {
  const url = await checkAnswers(databaseUrl)
  return { url, stop: async () => {}, ended: new Promise(() => {}) }
}

/** Opens a pool; `stop` gives running statements 5 s to finish. */
export function openPool(url: string, options: ConnectOptions = {}): { db: Pool; stop(): Promise<void> } {
  const db = connect(url, options)
  return { db, stop: () => db.end({ timeout: DRAIN_SECONDS }) }
}

async function checkAnswers(url: string): Promise<string> {
  const deadline = new Promise<never>((_, fail) => {
    const late = Object.assign(new Error('no answer within the deadline'), { code: 'CONNECT_TIMEOUT' })
    setTimeout(fail, ANSWER_DEADLINE_MS, late).unref()
  })
  try {
    return await Promise.race([markPooler(url), deadline])
  } catch (error) {
    throw new StartError(explain(error, url), error)
  }
}

function explain(error: unknown, url: string): string {
  const { hosts, database } = placesOf(url)
  const several = hosts.includes(',')
  switch (codeOf(error)) {
    case 'CONNECTION_DESTROYED':
      return several
        ? noPrimary(hosts)
        : `PostgreSQL at ${hosts} is not what target_session_attrs in DATABASE_URL asks for: correct DATABASE_URL`
    case 'ECONNREFUSED':
    case 'CONNECT_TIMEOUT':
    case 'CONNECTION_CLOSED':
    case 'ECONNRESET':
    case 'ETIMEDOUT':
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
    case 'ENOENT':
      return several
        ? noPrimary(hosts)
        : `PostgreSQL at ${hosts} does not answer (${codeOf(error)}): start it, or correct DATABASE_URL`
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `The host of DATABASE_URL is not known (${hosts}): correct DATABASE_URL`
    case '28P01':
      return `PostgreSQL at ${hosts} refuses the user or password of DATABASE_URL: ${messageOf(error)}. Correct DATABASE_URL, or set the password there (alter role … password …)`
    case '28000':
      return `PostgreSQL at ${hosts} refuses the user or password of DATABASE_URL: ${messageOf(error)}. Correct DATABASE_URL (sslmode=require if the server takes TLS only), or add the user and this machine to pg_hba.conf`
    case 'TLS_NOT_SUPPORTED':
      return `PostgreSQL at ${hosts} takes no TLS, which sslmode in DATABASE_URL asks for: set ssl = on there, or sslmode=disable on a network that you trust`
    case 'CHANNEL_BINDING_NOT_SUPPORTED':
      return `PostgreSQL at ${hosts} does not bind the login to the TLS connection, which channel_binding=require in DATABASE_URL asks for: use sslmode=require and a password stored as scram-sha-256, or remove channel_binding`
    case 'SELF_SIGNED_CERT_IN_CHAIN':
    case 'DEPTH_ZERO_SELF_SIGNED_CERT':
    case 'UNABLE_TO_GET_ISSUER_CERT':
    case 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY':
    case 'UNABLE_TO_VERIFY_LEAF_SIGNATURE':
      return `The certificate of PostgreSQL at ${hosts} is of an issuer that this machine does not know: add sslrootcert=/path/of/ca.pem to DATABASE_URL`
    case 'ERR_TLS_CERT_ALTNAME_INVALID':
      return `The certificate of PostgreSQL at ${hosts} names another host (${messageOf(error)}): use a name of the certificate in DATABASE_URL, or sslmode=verify-ca`
    case 'CERT_HAS_EXPIRED':
    case 'CERT_NOT_YET_VALID':
      return `The certificate of PostgreSQL at ${hosts} is not valid now (${messageOf(error)}): replace it, or correct the clock of this machine`
    case '3D000':
      return `PostgreSQL at ${hosts} has no database ${database}: create it (createdb ${database}), or correct DATABASE_URL`
    default:
      return `PostgreSQL at ${hosts} can't be used: ${messageOf(error)}. Correct DATABASE_URL or the server`
  }
}

const noPrimary = (hosts: string): string =>
  `None of the PostgreSQL servers ${hosts} answers as the primary: start it, or correct DATABASE_URL`

function placesOf(url: string): { hosts: string; database: string } {
  const place = /^[a-z]+:\/\/(?:[^/]*@)?([^/?]*)\/?([^?]*)/.exec(url)
  return { hosts: place?.[1] || 'localhost', database: place?.[2] || 'of the user’s name' }
}
