import type { PhoneCountry } from '../../platform/text/phone-reading.ts'

/** The permissions of an API key (decisions: Keys, permissions, CORS). `ContactsUpsert` is the client-side restriction. */
export const PERMISSIONS = ['WhatsApp', 'Transactional', 'ContactsUpsert'] as const
export type Permission = (typeof PERMISSIONS)[number]

/** The settings of a key that holds `ContactsUpsert` alone. Web pages show it to every visitor. */
export type BrowserKey = {
  /** Requests of the key a minute, and those of one client address. */
  readonly limits: { readonly ofKey: number; readonly ofAddress: number }
  /** Bytes that the key stores in an hour, and those of one client address. */
  readonly storedBytes: { readonly ofKey: number; readonly ofAddress: number }
  /** The members of a contact that it may write; null: all. */
  readonly writableFields: readonly string[] | null
  /** Encrypted; null: it takes no proofs of identity. */
  readonly identitySecret: string | null
}

/** The company and the API key of a request, or the session of the console that takes its place. */
export type Caller = {
  readonly companyId: number
  /** The public half of the key; of a session `console:<id>`. */
  readonly clientId: string
  /** The name of the key or of the session. */
  readonly keyName: string
  readonly permissions: readonly Permission[]
  readonly allowedOrigins: readonly string[]
  readonly rateLimitPerMinute: number
  /** Present for a key that holds `ContactsUpsert` alone. */
  readonly browser?: BrowserKey
  /** Country whose national numbers the company writes; null: every phone has its country code. */
  readonly defaultCountry: PhoneCountry | null
  /** The company is being moved to another installation: its requests are answered 503. */
  readonly isLocked?: boolean
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Set on every route of the API-key surface before its handler runs. */
    caller: Caller
  }
  interface FastifyContextConfig {
    /** Which surface the route belongs to: decides authentication, limits and CORS. Absent: `api-key`. */
    surface?: 'api-key' | 'operator' | 'console' | 'provider' | 'public' | 'health'
    /** The answer stays open: its time says nothing about the service. */
    isStream?: boolean
    /** Any one of these suffices. Absent: any key that holds `WhatsApp` or `Transactional`. */
    permissions?: readonly Permission[]
  }
}
