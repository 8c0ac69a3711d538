import type { FieldFault } from '../platform/errors.ts'

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

type TextMember = {
  readonly column: string
  readonly body: string
  /** Value for new contacts; null if optional, and then null or an empty text removes the value. */
  readonly initial: string | null
  readonly rule: { readonly minLength?: 1; readonly maxLength: number } | { readonly enum: readonly string[] }
  readonly erased: string | null
  readonly isName: boolean
  readonly description: string
}

/** A new text needs an entry here and a migration for the column; everything else derives from this table. */
export const TEXT_MEMBERS = {
  firstName: {
    column: 'first_name',
    body: 'firstName',
    initial: null,
    rule: { maxLength: 200 },
    erased: 'null',
    isName: true,
    description: 'First name.',
  },
  lastName: {
    column: 'last_name',
    body: 'lastName',
    initial: null,
    rule: { maxLength: 200 },
    erased: 'null',
    isName: true,
    description: 'Last name.',
  },
  status: {
    column: 'status',
    body: 'status',
    initial: 'active',
    rule: { minLength: 1, maxLength: 64 },
    erased: "'erased'",
    isName: false,
    description: 'Status, `active` unless set by a write.',
  },
  source: {
    column: 'source',
    body: 'source',
    initial: 'API',
    rule: { minLength: 1, maxLength: 64 },
    erased: "''",
    isName: false,
    description: 'Source, `API` unless set by a write.',
  },
  sourceType: {
    column: 'source_type',
    body: 'source_type',
    initial: 'database',
    rule: { enum: ['database', 'third_party'] },
    erased: null,
    isName: false,
    description: '`database`, `third_party`, or a value set by the service.',
  },
  externalId: {
    column: 'external_id',
    body: 'externalId',
    initial: null,
    rule: { maxLength: 200 },
    erased: 'null',
    isName: false,
    description: 'Id in an external system.',
  },
} as const satisfies Record<string, TextMember>

export type TextName = keyof typeof TEXT_MEMBERS
type Member<Name extends TextName> = (typeof TEXT_MEMBERS)[Name]

export type Texts = { readonly [Name in TextName]: Member<Name>['initial'] extends null ? string | null : string }

export type NamedAs<Key extends 'column' | 'body', Values extends Record<TextName, unknown> = Texts> = {
  [Name in TextName as Member<Name>[Key]]: Values[Name]
}

export const TEXT_NAMES: readonly TextName[] = Object.keys(TEXT_MEMBERS).filter(
  (name): name is TextName => name in TEXT_MEMBERS,
)

export const eachText = <Value>(toValue: (member: TextMember) => Value) =>
  Object.fromEntries(TEXT_NAMES.map((name) => [name, toValue(TEXT_MEMBERS[name])])) as Record<TextName, Value>

export const INITIAL_TEXTS = eachText(({ initial }) => initial) as Texts

export const textsIn = <Source extends Partial<Texts>>(source: Source) =>
  Object.fromEntries(TEXT_NAMES.flatMap((name) => (source[name] === undefined ? [] : [[name, source[name]]]))) as Pick<
    Source,
    TextName & keyof Source
  >

export const textsOfRecord = <Source extends Partial<Texts>>(source: Source) =>
  Object.fromEntries(
    TEXT_NAMES.flatMap((name) => (source[name] === undefined ? [] : [[TEXT_MEMBERS[name].column, source[name]]])),
  ) as Source extends Texts ? NamedAs<'column'> : Partial<NamedAs<'column'>>

export type ContactMember = {
  readonly column: string
  readonly type: 'bigint' | 'text' | 'jsonb' | 'text[]' | 'boolean' | 'timestamptz'
  /** Name in the API record and in lists, nested after a dot; null if hidden. */
  readonly wire: string | null
  readonly body: string | null
  readonly isInLists: boolean
  readonly erased: string | null
}

const shown = (column: string, type: ContactMember['type'], wire: string = column) => ({ column, type, wire })
const written = (body: string, erased: string | null) => ({ body, isInLists: true, erased })
const kept = { body: null, isInLists: false, erased: null }

/**
 * All rows, comparisons, erasures and list columns derive from this table; a test compares it with the database
 * catalogue, the API and lists. A member with special rules needs a line here and a migration; tests fail for the rest.
 * A plain text is an entry in `TEXT_MEMBERS`.
 */
export const CONTACT_MEMBERS: { readonly [name in keyof Contact]: ContactMember } = {
  id: { ...shown('id', 'bigint'), ...kept, isInLists: true },
  email: { ...shown('email', 'text'), ...written('email', 'null') },
  phone: { ...shown('phone', 'text'), ...written('phone', 'null') },
  phoneIdentity: { column: 'phone_identity', type: 'text', wire: null, body: null, isInLists: false, erased: 'null' },
  ...eachText(({ column, body, erased }) => ({ ...shown(column, 'text'), ...written(body, erased) })),
  tags: { ...shown('tags', 'text[]'), ...written('tags', "'{}'") },
  emailConsent: {
    ...shown('email_consent', 'boolean', 'marketing_consent.email'),
    ...written('marketingConsent.email', 'null'),
  },
  whatsappConsent: {
    ...shown('whatsapp_consent', 'boolean', 'marketing_consent.whatsapp'),
    ...written('marketingConsent.whatsapp', 'null'),
  },
  customFields: { ...shown('custom_fields', 'jsonb'), ...written('customFields', "'{}'"), isInLists: false },
  externalConnectionId: { ...shown('external_connection_id', 'bigint'), ...kept, erased: 'null' },
  createdAt: { ...shown('created_at', 'timestamptz'), ...kept },
  updatedAt: { ...shown('updated_at', 'timestamptz'), ...kept, erased: 'statement_timestamp()' },
}

/** Derived and state columns of `contacts`, with their SQL value after an erasure. */
export const OTHER_COLUMNS = {
  company_id: null,
  deleted_at: null,
  erased_at: 'statement_timestamp()',
  email_key: 'null',
  search_text: "''",
} as const satisfies Record<string, string | null>

const members = Object.entries(CONTACT_MEMBERS)

const headOf = (name: string): string => name.split('.')[0] ?? ''

/** Maps record names to differing body names, such as `first_name` to `firstName`. */
export const BODY_NAMES: ReadonlyMap<string, string> = new Map(
  members.flatMap(([, { wire, body }]): [string, string][] =>
    wire === null || body === null || headOf(wire) === headOf(body) ? [] : [[headOf(wire), headOf(body)]],
  ),
)

export const STATE_MEMBERS = [
  'email',
  'phone',
  ...TEXT_NAMES,
  'customFields',
  'tags',
  'emailConsent',
  'whatsappConsent',
] as const satisfies readonly (keyof Contact)[]

export const CONTACT_COLUMNS = members.map(([, { column }]) => `contacts.${column}`).join(', ')

export const WRITTEN_COLUMNS: readonly { readonly column: string; readonly type: string }[] = [
  { column: 'id', type: 'bigint' },
  ...members.flatMap(([, { column, type, body }]) => (body === null ? [] : [{ column, type }])),
  { column: 'phone_identity', type: 'text' },
  { column: 'email_key', type: 'text' },
  { column: 'search_text', type: 'text' },
]

export const LIST_COLUMNS = members.flatMap(([, { wire, isInLists }]) => (wire !== null && isInLists ? [wire] : []))

export const ERASING_ASSIGNMENTS = [
  ...members.map(([, { column, erased }]) => ({ column, erased })),
  ...Object.entries(OTHER_COLUMNS).map(([column, erased]) => ({ column, erased })),
]
  .filter(({ erased }) => erased !== null)
  .map(({ column, erased }) => `${column} = ${erased}`)
  .join(', ')
