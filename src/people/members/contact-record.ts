import type { FieldFault } from '../../platform/errors.ts'
import type { Texts } from './text-members.ts'

/** Values under any key, `__proto__` included: made by `JSON.parse` or `Object.fromEntries`, never by assignment. */
export type CustomFields = Readonly<Record<string, unknown>>

/** A contact as it is stored. A row is not a reply: see `toContactReply`. */
export type Contact = Texts & {
  readonly id: number
  readonly email: string | null
  /** Digits, as given. */
  readonly phone: string | null
  /** Of `phone`: equal for all ways of writing one line. */
  readonly phoneIdentity: string | null
  readonly customFields: CustomFields
  readonly tags: readonly string[]
  readonly emailConsent: boolean | null
  readonly whatsappConsent: boolean | null
  readonly externalConnectionId: number | null
  readonly createdAt: Date
  readonly updatedAt: Date
}

/** A contact as a read returns it. */
export type ShownContact = Contact & {
  /** Why no marketing mail goes to its address, and since when; null: mail goes there. */
  readonly emailSuppression: { readonly reason: 'bounce' | 'complaint'; readonly since: string } | null
}

/** The members that a request writes. Absent members stay; null removes the value. */
export type ContactWrite = Partial<Texts> & {
  readonly email?: string | null
  /** Digits, without `+`. */
  readonly phone?: string | null
  /** A null value removes its key. */
  readonly customFields?: CustomFields
  readonly tags?: readonly string[]
  readonly emailConsent?: boolean
  readonly whatsappConsent?: boolean
  /** When and from which IP address a list says that consent was given or refused; a time of null is now. */
  readonly evidence?: { readonly [channel in Channel]?: ConsentEvidence }
  /** Whether the consents are those of the record as it was read: equal ones are no new statement. */
  readonly areConsentsRead?: boolean
  /** Values of the record that no write sets: each has to equal the stored one. */
  readonly claims?: readonly RecordClaim[]
  /** Of a key of a browser: an HMAC of the email or the phone, see `readProofs`. It is not stored. */
  readonly identityProof?: string
}

/** A value of the record as it was read; `fault` is answered when the contact has another one. */
export type RecordClaim = {
  /** In the record; the part after a dot is a member within. */
  readonly member: string
  readonly value: unknown
  readonly fault: FieldFault & { readonly kind: 'value' | 'email' | 'phone' }
}

export type Channel = 'email' | 'whatsapp'

export type ConsentEvidence = { readonly saidAt: Date | null; readonly ip: string | null }

/** The author of a change: the API key, if any, and the kind of source (`api`, `unsubscribe`, …). */
export type ChangedBy = { readonly clientId: string | null; readonly source: string }
