import type { PhoneCountry } from '../../platform/text/phone-reading.ts'
import type { Permission } from './caller.ts'
import type { SessionRole } from './role.ts'

/** What requests need to know of their company. */
export type CompanyState = {
  /** The company is being moved to another installation: requests for it are answered 503. */
  readonly isLocked: boolean
  readonly defaultCountry: PhoneCountry | null
  /** Requests a minute that all sessions of the company share. */
  readonly sessionRateLimitPerMinute: number
  readonly agentsMayErase: boolean
}

/** A signed-in session of the console. It ends by time, by signing out, and with the credential that it comes from. */
export type Session = {
  readonly id: number
  /** Null: a session of the operator. */
  readonly company: { readonly id: number; readonly name: string } | null
  readonly state: CompanyState
  /** The name of the person, of the API key, or `Operator`. Messages that are sent from the session carry it. */
  readonly name: string
  readonly permissions: readonly Permission[]
  /** Fixed by the link; `admin` for sessions from an API key and of the operator. */
  readonly role: SessionRole
  /** The credential that the session ends with: an API key, or the operator's token as `operator:<fingerprint>`. */
  readonly credential: string
  /** The browser's User-Agent. */
  readonly agent: string
  readonly createdAt: Date
  readonly seenAt: Date
  readonly endsAt: Date
}

/** How requests of the console find their session; absent when the console is off. */
export type Sessions = {
  /** The session of a `Cookie` header; using it keeps it from ending as unused. At most 3 s old. */
  use(cookie: string | undefined): Promise<Session | undefined>
  /** Whether a `Cookie` header has more than one cookie of the name: it belongs to no session. */
  areSeveral(cookie: string | undefined): boolean
  /** Whether the session of a `Cookie` header has not ended; reading it does not count as use. At most 3 s old. */
  isLive(cookie: string | undefined): Promise<boolean>
  /** The company that an operator acts for; undefined when there is none. At most 3 s old. */
  findCompany(companyId: number): Promise<CompanyState | undefined>
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The session of a request of the console; null for every other request. */
    session: Session | null
  }
  interface FastifyContextConfig {
    /** On the surface `console`: the route signs in. It needs no session, and counts against the client's address. */
    isSignIn?: boolean
  }
}
