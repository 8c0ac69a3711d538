import { type Static, type TProperties, Type } from 'typebox'
import type { FieldFault } from '../../platform/errors.ts'

/** Provider limit. */
const MOST_CARDS = 257
/** Parley's own bounds. */
const MOST_ENTRIES = 20
const LONGEST_VALUE = 256
const LONGEST_URL = 2_048

const value = (maxLength = LONGEST_VALUE) => Type.Optional(Type.String({ minLength: 1, maxLength }))
const kind = Type.Optional(
  Type.String({ minLength: 1, maxLength: LONGEST_VALUE, description: 'Label, such as `WORK` or `HOME`.' }),
)
const closed = <Members extends TProperties>(members: Members) => Type.Object(members, { additionalProperties: false })
const listOf = <Members extends TProperties>(members: Members) =>
  Type.Optional(Type.Array(closed({ ...members, type: kind }), { maxItems: MOST_ENTRIES }))

const Name = Type.Object(
  {
    formatted_name: Type.String({ minLength: 1, maxLength: LONGEST_VALUE, description: 'Full name.' }),
    first_name: value(),
    middle_name: value(),
    last_name: value(),
    prefix: value(),
    suffix: value(),
  },
  { additionalProperties: false, description: 'Full name and at least one of its parts.' },
)

const ContactCardShape = Type.Object(
  {
    name: Name,
    phones: listOf({
      phone: value(),
      wa_id: Type.Optional(
        Type.String({ pattern: '^[0-9]{5,20}$', description: 'WhatsApp number: adds a button to start a chat.' }),
      ),
    }),
    emails: listOf({ email: Type.String({ minLength: 1, maxLength: LONGEST_VALUE }) }),
    urls: listOf({ url: Type.String({ minLength: 1, maxLength: LONGEST_URL }) }),
    addresses: listOf({
      street: value(),
      city: value(),
      state: value(),
      zip: value(),
      country: value(),
      country_code: value(),
    }),
    org: Type.Optional(closed({ company: value(), department: value(), title: value() })),
    birthday: Type.Optional(Type.String({ pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}$', description: 'As `YYYY-MM-DD`.' })),
  },
  { title: 'ContactCard', additionalProperties: false, description: "A contact card in the provider's format." },
)
export type ContactCard = Static<typeof ContactCardShape>

export const ContactCardsShape = Type.Array(ContactCardShape, {
  minItems: 1,
  maxItems: MOST_CARDS,
  description: 'Contact cards to share.',
})

export const CONTACT_CARDS_EXAMPLE = [
  {
    name: { formatted_name: 'Ada Rossi', first_name: 'Ada', last_name: 'Rossi' },
    phones: [{ phone: '+39 333 1234567', wa_id: '393331234567', type: 'WORK' }],
    org: { company: 'Rossi Shoes' },
  },
] satisfies ContactCard[]

/** Returns faults beyond the shape: a full name without parts. */
export const contactCardFaults = (cards: readonly Partial<ContactCard>[]): FieldFault[] =>
  cards.flatMap(({ name }, place) =>
    name !== undefined && Object.keys(name).every((member) => member === 'formatted_name')
      ? [{ path: `contacts[${place}].name`, message: 'must have a part besides formatted_name, such as first_name' }]
      : [],
  )
