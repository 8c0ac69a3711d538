import type { Contact } from './contact-record.ts'
import { eachText, TEXT_NAMES } from './text-members.ts'

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
