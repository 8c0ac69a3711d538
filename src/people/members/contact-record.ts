import type { FieldFault } from '../../platform/errors.ts'
import type { Texts } from './text-members.ts'

/** Can have any key, even `__proto__`: must be built by `JSON.parse` or `Object.fromEntries`, never by assignment. */
export type CustomFields = Readonly<Record<string, unknown>>

export type Contact = Texts & {
  readonly id: number
  readonly email: string | null
  readonly phone: string | null
  readonly phoneIdentity: string | null
  readonly customFields: CustomFields
  readonly tags: readonly string[]
  readonly emailConsent: boolean | null
  readonly whatsappConsent: boolean | null
  readonly externalConnectionId: number | null
  readonly createdAt: Date
  readonly updatedAt: Date
}

export type ShownContact = Contact & {
  readonly emailSuppression: { readonly reason: 'bounce' | 'complaint'; readonly since: string } | null
}

/** The members to write: absent ones stay, null removes the value. */
export type ContactWrite = Partial<Texts> & {
  readonly email?: string | null
  readonly phone?: string | null
  readonly customFields?: CustomFields
  readonly tags?: readonly string[]
  readonly emailConsent?: boolean
  readonly whatsappConsent?: boolean
  /** When and from which IP address consent was given or refused, if a list has it; a null time means now. */
  readonly evidence?: { readonly [channel in Channel]?: ConsentEvidence }
  /** Whether consents repeat a record as read; equal values are then no new statement. */
  readonly areConsentsRead?: boolean
  readonly claims?: readonly RecordClaim[]
  /** With a browser key, an HMAC of the email or phone; see `readProofs`. Not stored. */
  readonly identityProof?: string
}

/** A value read earlier; a mismatch returns `fault`. */
export type RecordClaim = {
  readonly member: string
  readonly value: unknown
  readonly fault: FieldFault & { readonly kind: 'value' | 'email' | 'phone' }
}

export type Channel = 'email' | 'whatsapp'

export type ConsentEvidence = { readonly saidAt: Date | null; readonly ip: string | null }

/** The API key, if any, and the source (`api`, `unsubscribe`, …) of a change. */
export type ChangedBy = { readonly clientId: string | null; readonly source: string }
