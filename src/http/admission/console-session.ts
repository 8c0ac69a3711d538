import type { PhoneCountry } from '../../platform/text/phone.ts'
import type { Permission } from './caller.ts'
import type { SessionRole } from './role.ts'

export type CompanyState = {
  /** During a move; requests are answered 503. */
  readonly isLocked: boolean
  readonly defaultCountry: PhoneCountry | null
  /** Per minute, shared by all sessions of the company. */
  readonly sessionRateLimitPerMinute: number
  readonly agentsMayErase: boolean
}

/** Ends by expiry, sign-out, or with its credential. */
export type Session = {
  readonly id: number
  /** Null: operator session. */
  readonly company: { readonly id: number; readonly name: string } | null
  readonly state: CompanyState
  /** The person, the API key, or `Operator`; attached to messages sent in this session. */
  readonly name: string
  readonly permissions: readonly Permission[]
  /** Fixed by the link; `admin` for API-key and operator sessions. */
  readonly role: SessionRole
  /** An API key, or `operator:<fingerprint>` of the operator token. */
  readonly credential: string
  readonly agent: string
  readonly createdAt: Date
  readonly seenAt: Date
  readonly endsAt: Date
}

/** Session lookups by `Cookie` header, at most 3 s stale. Absent when the console is off. */
export type Sessions = {
  /** Counts as use, which extends the idle timeout. */
  use(cookie: string | undefined): Promise<Session | undefined>
  /** Whether the header repeats the session cookie; such a header belongs to no session. */
  areSeveral(cookie: string | undefined): boolean
  isLive(cookie: string | undefined): Promise<boolean>
  findCompany(companyId: number): Promise<CompanyState | undefined>
}

declare module 'fastify' {
  interface FastifyRequest {
    session: Session | null
  }
  interface FastifyContextConfig {
    /** For the `console` surface: needs no session; counts against the client address. */
    isSignIn?: boolean
  }
}
