import type { Contact } from './contact-record.ts'
import { eachText, TEXT_NAMES } from './text-members.ts'

/** A member of a contact. */
export type ContactMember = {
  /** In `contacts`. */
  readonly column: string
  readonly type: 'bigint' | 'text' | 'jsonb' | 'text[]' | 'boolean' | 'timestamptz'
  /** In the record of the API, and in lists; the part after a dot is a member within. Null: it is not shown. */
  readonly wire: string | null
  /** In the body of a write; null: no caller writes it. */
  readonly body: string | null
  readonly isInLists: boolean
  /** The value that an erasure writes, as SQL; null: it is not personal, and stays. */
  readonly erased: string | null
}

const shown = (column: string, type: ContactMember['type'], wire: string = column) => ({ column, type, wire })
const written = (body: string, erased: string | null) => ({ body, isInLists: true, erased })
const kept = { body: null, isInLists: false, erased: null }

/**
 * All members of a contact. Rows, their comparison, their erasure and the columns of lists are made of this list; a test
 * compares it with the catalogue, the record of the API, the body of a write, and lists. A member with a rule of its own is a
 * line here and a migration, and the tests name what else follows; a plain text is an entry of `TEXT_MEMBERS`.
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
  // In lists each field is a column of its own.
  customFields: { ...shown('custom_fields', 'jsonb'), ...written('customFields', "'{}'"), isInLists: false },
  externalConnectionId: { ...shown('external_connection_id', 'bigint'), ...kept, erased: 'null' },
  createdAt: { ...shown('created_at', 'timestamptz'), ...kept },
  updatedAt: { ...shown('updated_at', 'timestamptz'), ...kept, erased: 'statement_timestamp()' },
}

/** The columns of `contacts` that are made of others, or hold the state of the row, and what an erasure writes. */
export const OTHER_COLUMNS = {
  company_id: null,
  deleted_at: null,
  erased_at: 'statement_timestamp()',
  email_key: 'null',
  search_text: "''",
} as const satisfies Record<string, string | null>

const members = Object.entries(CONTACT_MEMBERS)

const headOf = (name: string): string => name.split('.')[0] ?? ''

/** The names of the record that the body of a write has under another one, such as `first_name` for `firstName`. */
export const BODY_NAMES: ReadonlyMap<string, string> = new Map(
  members.flatMap(([, { wire, body }]): [string, string][] =>
    wire === null || body === null || headOf(wire) === headOf(body) ? [] : [[headOf(wire), headOf(body)]],
  ),
)

/** The members that a write of a contact sets. */
export const STATE_MEMBERS = [
  'email',
  'phone',
  ...TEXT_NAMES,
  'customFields',
  'tags',
  'emailConsent',
  'whatsappConsent',
] as const satisfies readonly (keyof Contact)[]

/** The columns of `Contact`, as a list in SQL. */
export const CONTACT_COLUMNS = members.map(([, { column }]) => `contacts.${column}`).join(', ')

/** The columns that a write of a contact sets, with their types. */
export const WRITTEN_COLUMNS: readonly { readonly column: string; readonly type: string }[] = [
  { column: 'id', type: 'bigint' },
  ...members.flatMap(([, { column, type, body }]) => (body === null ? [] : [{ column, type }])),
  { column: 'phone_identity', type: 'text' },
  { column: 'email_key', type: 'text' },
  { column: 'search_text', type: 'text' },
]

/** The columns of lists, in their order. */
export const LIST_COLUMNS = members.flatMap(([, { wire, isInLists }]) => (wire !== null && isInLists ? [wire] : []))

/** The assignments of an erasure, as SQL. */
export const ERASING_ASSIGNMENTS = [
  ...members.map(([, { column, erased }]) => ({ column, erased })),
  ...Object.entries(OTHER_COLUMNS).map(([column, erased]) => ({ column, erased })),
]
  .filter(({ erased }) => erased !== null)
  .map(({ column, erased }) => `${column} = ${erased}`)
  .join(', ')
