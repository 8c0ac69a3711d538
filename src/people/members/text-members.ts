/** A member of a contact that is a text without a rule of its own. */
type TextMember = {
  /** In `contacts`, in the record of the API and in lists. */
  readonly column: string
  /** In the body of a write. */
  readonly body: string
  /** Of a new contact; null: a contact may have none, and null or the empty text in a write removes it. */
  readonly initial: string | null
  /** The values that a write may carry, as members of a JSON Schema. */
  readonly rule: { readonly minLength?: 1; readonly maxLength: number } | { readonly enum: readonly string[] }
  /** The value that an erasure writes, as SQL; null: it is not personal, and stays. */
  readonly erased: string | null
  /** Whether a search looks at it, as a part of the name. */
  readonly isName: boolean
  /** In the record of the API. */
  readonly description: string
}

/**
 * The texts of a contact. A new one is an entry here and a migration that adds its column: types, shapes, statements, imports,
 * exports, erasure, events and the console are made of this table.
 */
export const TEXT_MEMBERS = {
  firstName: {
    column: 'first_name',
    body: 'firstName',
    initial: null,
    rule: { maxLength: 200 },
    erased: 'null',
    isName: true,
    description: 'The first name.',
  },
  lastName: {
    column: 'last_name',
    body: 'lastName',
    initial: null,
    rule: { maxLength: 200 },
    erased: 'null',
    isName: true,
    description: 'The last name.',
  },
  status: {
    column: 'status',
    body: 'status',
    initial: 'active',
    rule: { minLength: 1, maxLength: 64 },
    erased: "'erased'",
    isName: false,
    description: 'The status, `active` unless a write set another one.',
  },
  source: {
    column: 'source',
    body: 'source',
    initial: 'API',
    rule: { minLength: 1, maxLength: 64 },
    erased: "''",
    isName: false,
    description: 'The source, `API` unless a write set another one.',
  },
  sourceType: {
    column: 'source_type',
    body: 'source_type',
    initial: 'database',
    rule: { enum: ['database', 'third_party'] },
    erased: null,
    isName: false,
    description: '`database`, `third_party`, or the value of the service itself.',
  },
  externalId: {
    column: 'external_id',
    body: 'externalId',
    initial: null,
    rule: { maxLength: 200 },
    erased: 'null',
    isName: false,
    description: 'The id in an external system.',
  },
} as const satisfies Record<string, TextMember>

export type TextName = keyof typeof TEXT_MEMBERS
type Member<Name extends TextName> = (typeof TEXT_MEMBERS)[Name]

/** The texts of a contact: null where it may have none. */
export type Texts = { readonly [Name in TextName]: Member<Name>['initial'] extends null ? string | null : string }

/** A value for each text, under its name in the record (`column`) or in the body of a write (`body`). */
export type NamedAs<Key extends 'column' | 'body', Values extends Record<TextName, unknown> = Texts> = {
  [Name in TextName as Member<Name>[Key]]: Values[Name]
}

export const TEXT_NAMES: readonly TextName[] = Object.keys(TEXT_MEMBERS).filter(
  (name): name is TextName => name in TEXT_MEMBERS,
)

/** A value for each text. */
export const eachText = <Value>(toValue: (member: TextMember) => Value) =>
  Object.fromEntries(TEXT_NAMES.map((name) => [name, toValue(TEXT_MEMBERS[name])])) as Record<TextName, Value>

/** The texts of a new contact. */
export const INITIAL_TEXTS = eachText(({ initial }) => initial) as Texts

/** The texts that an object has. */
export const textsIn = <Source extends Partial<Texts>>(source: Source) =>
  Object.fromEntries(TEXT_NAMES.flatMap((name) => (source[name] === undefined ? [] : [[name, source[name]]]))) as Pick<
    Source,
    TextName & keyof Source
  >

/** The texts that an object has, under their names in the record. */
export const textsOfRecord = <Source extends Partial<Texts>>(source: Source) =>
  Object.fromEntries(
    TEXT_NAMES.flatMap((name) => (source[name] === undefined ? [] : [[TEXT_MEMBERS[name].column, source[name]]])),
  ) as Source extends Texts ? NamedAs<'column'> : Partial<NamedAs<'column'>>
