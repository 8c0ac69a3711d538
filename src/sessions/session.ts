import { hash } from 'node:crypto'
import { rememberSignIn } from '../conversations/assignees/assignee-store.ts'
import type { Db } from '../db/connect.ts'
import { createStatementBatcher } from '../db/statement-batcher.ts'
import { type ApiKeys, createTokenCheck } from '../http/admission/authenticate.ts'
import type { Permission } from '../http/admission/caller.ts'
import type { Session, Sessions } from '../http/admission/console-session.ts'
import { createCache } from '../platform/cache.ts'
import type { Clock } from '../platform/clock.ts'
import { sessionExists, sessionNotFound, signInRefused } from '../platform/errors.ts'
import { newApiSecret, newClientId, parseId } from '../platform/ids.ts'
import type { Config } from '../platform/settings/config.ts'
import { createSessionCookie, type SessionCookie } from './session-cookie.ts'
import {
  deleteOldestOfKey,
  deleteOldestSessions,
  deleteSession,
  findCompanyState,
  findLink,
  findSessions,
  type Grant,
  insertSession,
  type SessionRow,
  selectSessions,
  touchSession,
} from './session-store.ts'

/** An ended session stops working on every node within this time. */
const TTL_MS = 3_000
const MOST_CACHED = 10_000
/** Every live stream checks its session every 3 s; one statement serves concurrent lookups. */
const LOOKUPS = { maxItems: 500, maxRunning: 2, maxWaiting: 10_000, maxWaitMs: 2_000 }
const HOUR_SECONDS = 60 * 60
const LIFETIMES = {
  company: { idleSeconds: 24 * HOUR_SECONDS, wholeSeconds: 7 * 24 * HOUR_SECONDS },
  operator: { idleSeconds: HOUR_SECONDS, wholeSeconds: 12 * HOUR_SECONDS },
}
const TOUCH_SECONDS = 60
/** Per company, and for the operator; the next sign-in ends the oldest. */
export const MOST_SESSIONS = 1_000
export const MOST_SESSIONS_OF_KEY = 5
const MOST_AGENT = 300
/** Excludes `ContactsUpsert`, which is for browser keys. */
export const SESSION_PERMISSIONS: readonly Permission[] = ['WhatsApp', 'Transactional']

type Browser = { agent: string; cookies?: string | undefined; mayReplace?: boolean | undefined }

export type ConsoleSessions = Sessions & {
  /**
   * Signs in with an API key, the operator's token or a link code; ends the browser's present session.
   * @throws {AppError} 401 `unauthorized`, the same for every reason; 409 `session_exists` if a link would replace the
   * present session without `mayReplace` (the link stays usable)
   */
  signIn(token: string, browser: Browser): Promise<{ session: Session; cookies: string[] }>
  /** Ends a session within 3 s on every node; null (operator) matches any company. 404 if unknown. */
  end(companyId: number | null, id: string | number): Promise<void>
  list(companyId: number | null, before: number | null, limit: number): Promise<Session[]>
  signOutCookies: string[]
  /** Fingerprint of the operator's token: a new token must end the operator's links and sessions. */
  operatorId: string
  drop(): void
}

type Deps = {
  config: Pick<Config, 'baseUrl' | 'adminToken' | 'apiKeyPrefix'>
  db: Db
  clock: Clock
  apiKeys: Pick<ApiKeys, 'findCaller'>
}

/** Creates the session store. The database only has a SHA-256 of each secret. */
export function createSessions({ config, db, clock, apiKeys }: Deps): ConsoleSessions {
  const cookie = createSessionCookie(config.baseUrl)
  const operatorId = operatorIdOf(config.adminToken ?? '')
  const findGrant = createGrantLookup({ config, apiKeys }, operatorId)
  const sessions = createCache<string, Promise<Session | undefined>>({
    name: 'sessions',
    max: MOST_CACHED,
    ttlMs: TTL_MS,
  })

  const findRow = createRowLookup(db, operatorId)
  const find = (secret: string): Promise<Session | undefined> =>
    sessions.get(secret, async () => {
      const row = await findRow(digestOf(secret).toString('hex'))
      return row && toSession(row)
    })

  const secretIn = (header: string | undefined): string | undefined => {
    const sent = cookie.read(header)
    return sent.state === 'one' ? sent.secret : undefined
  }

  const use = async (header: string | undefined): Promise<Session | undefined> => {
    const secret = secretIn(header)
    const session = secret === undefined ? undefined : await find(secret)
    if (secret === undefined || session === undefined || !isTouchDue(session, clock)) return session
    await touchSession(db, session.id, lifetimeOf(session).idleSeconds, TOUCH_SECONDS)
    sessions.drop(secret)
    return session
  }

  const findPresent = async (header: string | undefined): Promise<Session | undefined> => {
    const secret = secretIn(header)
    return secret === undefined ? undefined : find(secret)
  }

  const endSession = async (companyId: number | null, id: number): Promise<boolean> => {
    const hasEnded = await deleteSession(db, companyId, id)
    sessions.drop()
    return hasEnded
  }

  return {
    use,
    areSeveral: (header) => cookie.read(header).state === 'several',
    signIn: createSignIn({
      db,
      cookie,
      findGrant,
      findRow,
      findPresent,
      endSession,
      forgetSessions: () => sessions.drop(),
    }),
    isLive: async (header) => (await findPresent(header)) !== undefined,
    findCompany: (companyId) => findCompanyState(db, companyId),
    end: async (companyId, id) => {
      const sessionId = typeof id === 'number' ? id : parseId(id)
      if (sessionId === undefined || !(await endSession(companyId, sessionId))) throw sessionNotFound()
    },
    list: async (companyId, before, limit) =>
      (await selectSessions(db, companyId, operatorId, before, limit)).map(toSession),
    signOutCookies: cookie.take(),
    operatorId,
    drop: () => sessions.drop(),
  }
}

type SignInSteps = {
  db: Db
  cookie: SessionCookie
  findGrant: (token: string) => Promise<Grant | undefined>
  findRow: (digest: string) => Promise<SessionRow | undefined>
  findPresent: (cookies: string | undefined) => Promise<Session | undefined>
  endSession: (companyId: number | null, id: number) => Promise<boolean>
  forgetSessions: () => void
}

/** Runs every step for any token, so that all refusals take the same time. */
function createSignIn({
  db,
  cookie,
  findGrant,
  findRow,
  findPresent,
  endSession,
  forgetSessions,
}: SignInSteps): ConsoleSessions['signIn'] {
  return async (token, { agent, cookies, mayReplace = false }) => {
    const present = await findPresent(cookies)
    if (present !== undefined && !mayReplace) await refuseToReplace(db, present, digestOf(token))
    const grant = await findGrant(token)
    const secret = newApiSecret()
    const digest = digestOf(secret)
    const entry = { digest, code: digestOf(token), grant, agent: agent.slice(0, MOST_AGENT) }
    const created = await insertSession(db, entry, LIFETIMES)
    const row = await findRow(digest.toString('hex'))
    if (created === undefined || row === undefined) throw signInRefused()
    await deleteOldestSessions(db, created.companyId, MOST_SESSIONS)
    if (created.companyId !== null) {
      await deleteOldestOfKey(db, created.companyId, row.clientId, MOST_SESSIONS_OF_KEY)
      forgetSessions()
      await rememberSignIn(db, created.companyId, row.name)
    }
    if (present !== undefined) await endSession(null, present.id)
    const session = toSession(row)
    return { session, cookies: cookie.give(secret, lifetimeOf(session).wholeSeconds) }
  }
}

/** A link's creator could otherwise move a signed-in user to another company unnoticed. */
async function refuseToReplace(db: Db, { name, company }: Session, code: Buffer): Promise<void> {
  const link = await findLink(db, code)
  if (link === undefined) return
  const offered = link.companyId === null ? null : { id: link.companyId, name: link.companyName ?? '' }
  throw sessionExists({ name, company }, { name: link.name, company: offered })
}

const createRowLookup = (db: Db, operatorId: string) =>
  createStatementBatcher<string, SessionRow | undefined>({
    ...LOOKUPS,
    run: (digests) => findSessions(db, digests, operatorId),
  })

function createGrantLookup({ config, apiKeys }: Pick<Deps, 'config' | 'apiKeys'>, operatorId: string) {
  const isOperator = createTokenCheck(config.adminToken)
  return async (token: string): Promise<Grant | undefined> => {
    const isKey = token.startsWith(`${config.apiKeyPrefix}-`)
    const asKey = isKey ? token : `${config.apiKeyPrefix}-${newClientId()}-${newApiSecret()}`
    const caller = await apiKeys.findCaller(`Bearer ${asKey}`)
    if (isOperator(`Bearer ${token}`))
      return { companyId: null, clientId: operatorId, name: 'Operator', permissions: [], role: 'admin' }
    const permissions = SESSION_PERMISSIONS.filter((one) => caller?.permissions.includes(one))
    if (caller === undefined || permissions.length === 0) return undefined
    const { companyId, clientId, keyName: name } = caller
    return { companyId, clientId, name, permissions, role: 'admin' }
  }
}

const isTouchDue = ({ seenAt }: Session, clock: Clock): boolean =>
  clock.now().getTime() - seenAt.getTime() > TOUCH_SECONDS * 1000

const lifetimeOf = ({ company }: Session) => (company === null ? LIFETIMES.operator : LIFETIMES.company)

export const digestOf = (secret: string): Buffer => hash('sha256', secret, 'buffer')

const operatorIdOf = (token: string): string => `operator:${hash('sha256', token, 'hex').slice(0, 32)}`

const toSession = (row: SessionRow): Session =>
  Object.freeze({
    id: row.id,
    company: row.companyId === null ? null : { id: row.companyId, name: row.companyName ?? '' },
    state: {
      isLocked: row.isLocked,
      defaultCountry: row.defaultCountry,
      sessionRateLimitPerMinute: row.sessionRateLimitPerMinute ?? Number.POSITIVE_INFINITY,
      agentsMayErase: row.agentsMayErase ?? true,
    },
    name: row.name,
    permissions: row.permissions,
    role: row.role,
    credential: row.clientId,
    agent: row.agent,
    createdAt: row.createdAt,
    seenAt: row.seenAt,
    endsAt: row.endsAt,
  })
