/** The search parameters of every address: the company that an operator acts for. */
export type Scope = { as?: number }
/** The filters of the inbox. */
export type InboxSearch = {
  status?: 'open' | 'closed' | 'snoozed' | 'all'
  channelId?: number
  unread?: true
  mine?: true
  search?: string
}
/** The filters of a receiver's deliveries, and the delivery that is open. */
export type ReceiverSearch = {
  status?: 'pending' | 'delivered' | 'dead'
  hours?: number
  search?: string
  delivery?: number
  /** The attempt whose headers and answer are shown; without it the latest. */
  attempt?: number
  view?: 'headers' | 'answer'
}

export const CONTACT_CONSENTS = [
  'whatsapp:yes',
  'whatsapp:no',
  'whatsapp:unknown',
  'email:yes',
  'email:no',
  'email:unknown',
] as const
export const CONTACT_SORTS = ['-created_at', 'created_at', '-updated_at', 'updated_at', 'email', '-email'] as const
/** The search, the filters and the order of the contacts. */
export type ContactSearch = {
  search?: string
  status?: string
  consent?: (typeof CONTACT_CONSENTS)[number]
  tag?: string
  /** Key, colon, value; without a value it only says which field is chosen. */
  field?: string
  sort?: (typeof CONTACT_SORTS)[number]
}

/** The list of the operator's events, and its filters. */
export type EventSearch = { list?: 'unroutable'; reason?: string; number?: string }

type Input = Record<string, unknown>

export const readScope = (search: Input): Scope => definedOnly({ as: idOf(search.as) })

export const readInboxSearch = (search: Input): InboxSearch =>
  definedOnly({
    status: oneOf(search.status, ['open', 'closed', 'snoozed', 'all']),
    channelId: idOf(search.channelId),
    unread: search.unread === true ? true : undefined,
    mine: search.mine === true ? true : undefined,
    search: textOf(search.search),
  })

export const readReceiverSearch = (search: Input): ReceiverSearch =>
  definedOnly({
    status: oneOf(search.status, ['pending', 'delivered', 'dead']),
    hours: idOf(search.hours),
    search: textOf(search.search),
    delivery: idOf(search.delivery),
    attempt: idOf(search.attempt),
    view: oneOf(search.view, ['headers', 'answer']),
  })

export const readContactSearch = (search: Input): ContactSearch =>
  definedOnly({
    search: textOf(search.search),
    status: textOf(search.status),
    consent: oneOf(search.consent, CONTACT_CONSENTS),
    tag: textOf(search.tag),
    field: textOf(search.field),
    sort: oneOf(search.sort, CONTACT_SORTS),
  })

export const readEventSearch = (search: Input): EventSearch =>
  definedOnly({
    list: oneOf(search.list, ['unroutable']),
    reason: textOf(search.reason),
    number: textOf(search.number),
  })

const idOf = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : undefined

const textOf = (value: unknown): string | undefined => {
  const text = typeof value === 'number' ? String(value) : value
  return typeof text === 'string' && text !== '' ? text : undefined
}

function oneOf<Choice extends string>(value: unknown, choices: readonly Choice[]): Choice | undefined {
  return choices.find((choice) => choice === value)
}

/** Without the members that are undefined, so that they do not appear in the address. */
function definedOnly<Search extends object>(search: { [Key in keyof Search]: Search[Key] | undefined }): Search {
  return JSON.parse(JSON.stringify(search))
}
