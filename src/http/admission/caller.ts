import type { PhoneCountry } from '../../platform/text/phone.ts'

/** API key permissions (decisions: Keys, permissions, CORS). `ContactsUpsert` is the client-side restriction. */
export const PERMISSIONS = ['WhatsApp', 'Transactional', 'ContactsUpsert'] as const
export type Permission = (typeof PERMISSIONS)[number]

/** Settings of a key with only `ContactsUpsert`. Web pages expose such a key to every visitor. */
export type BrowserKey = {
  /** Requests per minute, per key and per client address. */
  readonly limits: { readonly ofKey: number; readonly ofAddress: number }
  /** Bytes stored per hour, per key and per client address. */
  readonly storedBytes: { readonly ofKey: number; readonly ofAddress: number }
  /** Contact members the key may write; null: all. */
  readonly writableFields: readonly string[] | null
  /** Encrypted; null: identity proofs not accepted. */
  readonly identitySecret: string | null
}

export type Caller = {
  readonly companyId: number
  /** Public half of the key; `console:<id>` for a session. */
  readonly clientId: string
  readonly keyName: string
  readonly permissions: readonly Permission[]
  readonly allowedOrigins: readonly string[]
  readonly rateLimitPerMinute: number
  readonly browser?: BrowserKey
  /** For national phone numbers; null: every phone needs a country code. */
  readonly defaultCountry: PhoneCountry | null
  /** During a move; requests are answered 503. */
  readonly isLocked?: boolean
}

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller
  }
  interface FastifyContextConfig {
    surface?: 'api-key' | 'operator' | 'console' | 'provider' | 'public' | 'health'
    /** The response stays open, so its duration is not a latency. */
    isStream?: boolean
    /** Any one suffices. Absent: `WhatsApp` or `Transactional`. */
    permissions?: readonly Permission[]
  }
}
