import { isDeepStrictEqual } from 'node:util'
import { emailKey } from '../../text/email-address.ts'
import { applyWrite, type Change, consentChanges, customFieldsFault } from '../contact-change.ts'
import type { ContactWrite } from '../contact-record.ts'
import type { ConsentSet, ContactState } from '../contact-store.ts'
import type { Match, Named } from './identity-store.ts'

/**
 * A write and the contact that it names. An id names its contact as long as email and phone are equal, too; otherwise
 * the matching rules hold.
 */
export type Item = Named & { readonly write: ContactWrite }

/** What one item did to its contact; nothing when its custom fields exceed their limits. */
export type Step = {
  readonly person: Person
  readonly kind: 'created' | 'updated' | 'unchanged' | 'full'
  /** The contact after this item; its id is the person's. */
  readonly state: ContactState
  readonly fault?: string
}

/** A contact of a batch, as far as the batch is applied. */
export type Person = {
  /** Of a new contact: given when it is written. */
  id: number
  readonly known: Match | undefined
  state: ContactState | undefined
  readonly consents: ConsentSet[]
  readonly numbersGivenUp: Set<string>
}

export type WhenFull = 'refuse' | 'keep'

/** Higher than every id, so that a new contact is younger than all known ones. */
const FIRST_NEW_ID = 2 ** 52

/**
 * Applies the items one after another to the contacts that they match, in memory (spec: Contacts, Matching rules).
 * `matches` holds every contact that an item can match when it is processed: see `readMatches`.
 */
export function applyItems(items: readonly Item[], matches: readonly Match[], whenFull: WhenFull): Step[] {
  const index = createIndex(matches)
  return items.map((item, place) => {
    const person = index.find(item) ?? newPerson(FIRST_NEW_ID + place)
    const step = applyItem(person, item, whenFull)
    if (step.kind === 'full') return step
    person.consents.push(...consentChanges(person.state, step.state, item.write))
    index.move(person, step.state)
    return step
  })
}

const newPerson = (id: number): Person => ({
  id,
  known: undefined,
  state: undefined,
  consents: [],
  numbersGivenUp: new Set(),
})

function applyItem(person: Person, item: Item, whenFull: WhenFull): Step {
  const { write } = item
  const before = person.state
  const applied = withOwnConsent(before, item, applyWrite(person.id, before, write))
  const fault = write.customFields && customFieldsFault(applied.customFields)
  if (fault !== undefined && whenFull === 'refuse') return { person, kind: 'full', state: applied, fault }
  const state = fault === undefined ? applied : { ...applied, customFields: before?.customFields ?? {} }
  return { person, kind: before === undefined ? 'created' : isSame(before, state) ? 'unchanged' : 'updated', state }
}

/** A contact that is matched by phone and takes another email: what it said about the earlier one does not count for it. */
function withOwnConsent(before: ContactState | undefined, { emailKey: email, write }: Item, after: ContactState) {
  const earlier = keyOf(before)
  const isOther = earlier !== null && email !== null && earlier !== email
  return isOther && write.emailConsent === undefined ? { ...after, emailConsent: null } : after
}

const isSame = (before: ContactState, after: ContactState): boolean =>
  STATE_MEMBERS.every((member) => isDeepStrictEqual(before[member], after[member]))

const STATE_MEMBERS = [
  'email',
  'phone',
  'firstName',
  'lastName',
  'status',
  'source',
  'sourceType',
  'customFields',
  'tags',
  'emailConsent',
  'whatsappConsent',
] as const

/**
 * The contacts that the steps changed, each in its last state, with every change of consent in between; with `all`,
 * unchanged contacts are written again, too.
 */
export function changesOf(steps: readonly Step[], { all = false } = {}): Change[] {
  const people = new Set(steps.filter((step) => step.kind !== 'full').map((step) => step.person))
  return [...people].flatMap(({ id, known, state, consents, numbersGivenUp }) => {
    if (state === undefined) return []
    const isUnchanged = known !== undefined && isSame(known, state) && consents.length + numbersGivenUp.size === 0
    if (isUnchanged && !all) return []
    const ownConsents = consents.map((one) => ({ ...one, contact_id: id }))
    return [{ known, state: { ...state, id }, consents: ownConsents, numbersGivenUp: [...numbersGivenUp] }]
  })
}

/** Which contact an email, a phone or an id matches, while contacts change. */
function createIndex(matches: readonly Match[]) {
  const people = matches.map((match): Person => ({ ...newPerson(match.id), known: match, state: match }))
  const byId = new Map(people.map((person) => [person.id, person]))
  const byEmail = new Map<string, Person>()
  /** An alias matches while no contact has the number. */
  const byAlias = new Map<string, Person>()
  const holders = new Map<string, Set<Person>>()

  const addHolder = (phone: string, person: Person) => {
    const known = holders.get(phone)
    if (known === undefined) holders.set(phone, new Set([person]))
    else known.add(person)
  }
  for (const person of people) {
    if (person.known?.emailKey) byEmail.set(person.known.emailKey, person)
    if (person.known?.phoneIdentity) addHolder(person.known.phoneIdentity, person)
    for (const alias of person.known?.aliases ?? []) byAlias.set(alias, person)
  }

  return {
    find: ({ id, emailKey: email, phoneIdentity: phone }: Item): Person | undefined => {
      const named = id === undefined ? undefined : byId.get(id)
      if (named && keyOf(named.state) === email && (named.state?.phoneIdentity ?? null) === phone) return named
      const addressed = email === null ? undefined : byEmail.get(email)
      if (addressed !== undefined || phone === null) return addressed
      return oldest(holders.get(phone) ?? []) ?? byAlias.get(phone)
    },
    move: (person: Person, after: ContactState): void => {
      const [emailBefore, emailAfter] = [keyOf(person.state), keyOf(after)]
      if (emailBefore !== null && emailBefore !== emailAfter) byEmail.delete(emailBefore)
      if (emailAfter !== null) byEmail.set(emailAfter, person)
      const [phoneBefore, phoneAfter] = [person.state?.phoneIdentity ?? null, after.phoneIdentity]
      person.state = after
      if (phoneBefore === phoneAfter) return
      if (phoneAfter !== null) addHolder(phoneAfter, person)
      if (phoneBefore === null) return
      person.numbersGivenUp.add(phoneBefore)
      holders.get(phoneBefore)?.delete(person)
      // A contact that gives a number up is no longer known by it (forgetAliases).
      if (byAlias.get(phoneBefore) === person) byAlias.delete(phoneBefore)
    },
  }
}

function oldest(people: Iterable<Person>): Person | undefined {
  let first: Person | undefined
  for (const person of people) if (first === undefined || person.id < first.id) first = person
  return first
}

const keyOf = (state: ContactState | undefined): string | null =>
  state === undefined || state.email === null ? null : emailKey(state.email)
