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
