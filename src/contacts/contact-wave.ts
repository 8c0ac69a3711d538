import { isDeepStrictEqual } from 'node:util'
import { emailKey } from '../email-address.ts'
import { applyWrite, type Change, consentChanges, customFieldsFault } from './contact-change.ts'
import type { ContactWrite } from './contact-record.ts'
import type { ConsentSet, ContactState } from './contact-store.ts'
import type { Known, Named } from './people-store.ts'

/**
 * A write and whom it names. An id means its contact as long as email and phone are the same, too; otherwise the rules
 * for everybody hold.
 */
export type Item = Named & { readonly write: ContactWrite }

/** What one item made of the contact that it means; nothing at all when its custom fields found no room. */
export type Step = {
  readonly person: Person
  readonly kind: 'created' | 'updated' | 'unchanged' | 'full'
  /** The contact after this item; its id is the person's. */
  readonly state: ContactState
  readonly fault?: string
}

export type Person = {
  /** Of a new person: given when it is written. */
  id: number
  readonly known: Known | undefined
  state: ContactState | undefined
  readonly consents: ConsentSet[]
}

export type WhenFull = 'refuse' | 'keep'

/** No id is as high, so that who is new is younger than everybody. */
const FIRST_NEW_ID = 2 ** 52

/**
 * Applies the leading items one after another to the people they mean, in memory. Ends before the first item that only
 * the database can place: one whose phone somebody gave up, since it may mean anybody now, or whose email was given up,
 * since one statement cannot hand an address on. There is always a first step.
 */
export function takeSteps(items: readonly Item[], known: readonly Known[], whenFull: WhenFull): Step[] {
  const crowd = createCrowd(known)
  const steps: Step[] = []
  for (const item of items) {
    const met = crowd.meet(item)
    if (met === 'unknown') break
    const person = met ?? { id: FIRST_NEW_ID + steps.length, known: undefined, state: undefined, consents: [] }
    const step = takeStep(person, item.write, whenFull)
    steps.push(step)
    if (step.kind === 'full') continue
    person.consents.push(...consentChanges(person.state, step.state))
    crowd.move(person, step.state)
  }
  return steps
}

function takeStep(person: Person, write: ContactWrite, whenFull: WhenFull): Step {
  const before = person.state
  const applied = applyWrite(person.id, before, write)
  const fault = write.customFields && customFieldsFault(applied.customFields)
  if (fault !== undefined && whenFull === 'refuse') return { person, kind: 'full', state: applied, fault }
  const state = fault === undefined ? applied : { ...applied, customFields: before?.customFields ?? {} }
  return { person, kind: before === undefined ? 'created' : isSame(before, state) ? 'unchanged' : 'updated', state }
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
 * The people whom the steps changed, each as it is in the end, with all changes of consent on the way; with `all`, who
 * stays as he was is written again, too.
 */
export function changesOf(steps: readonly Step[], { all = false } = {}): Change[] {
  const people = new Set(steps.filter((step) => step.kind !== 'full').map((step) => step.person))
  return [...people].flatMap(({ id, known, state, consents }) => {
    if (state === undefined) return []
    if (!all && consents.length === 0 && known !== undefined && isSame(known, state)) return []
    return [{ known, state: { ...state, id }, consents: consents.map((one) => ({ ...one, contact_id: id })) }]
  })
}

function createCrowd(known: readonly Known[]) {
  const people = known.map((contact): Person => ({ id: contact.id, known: contact, state: contact, consents: [] }))
  const byId = new Map(people.map((person) => [person.id, person]))
  const byEmail = new Map<string, Person>()
  const byPhone = new Map<string, Person>()
  for (const person of people) {
    if (person.known?.emailKey) byEmail.set(person.known.emailKey, person)
    for (const phone of person.known?.phones ?? []) byPhone.set(phone, person)
  }
  const [emailsGivenUp, phonesGivenUp] = [new Set<string>(), new Set<string>()]

  const find = ({ id, emailKey: email, phoneIdentity: phone }: Item): Person | 'unknown' | undefined => {
    const named = id === undefined ? undefined : byId.get(id)
    if (named && keyOf(named.state) === email && (named.state?.phoneIdentity ?? null) === phone) return named
    const addressed = email === null ? undefined : byEmail.get(email)
    if (addressed || phone === null) return addressed
    return phonesGivenUp.has(phone) ? 'unknown' : byPhone.get(phone)
  }

  return {
    /** Who is meant: undefined when nobody is yet. */
    meet: (item: Item): Person | 'unknown' | undefined => {
      const person = find(item)
      if (person === 'unknown' || item.emailKey === null || !emailsGivenUp.has(item.emailKey)) return person
      return keyOf(person?.state) === item.emailKey ? person : 'unknown'
    },
    move: (person: Person, after: ContactState): void => {
      const before = person.state
      const [emailBefore, emailAfter] = [keyOf(before), keyOf(after)]
      if (emailBefore !== null && emailBefore !== emailAfter) {
        byEmail.delete(emailBefore)
        emailsGivenUp.add(emailBefore)
      }
      if (emailAfter !== null) byEmail.set(emailAfter, person)
      const [phoneBefore, phoneAfter] = [before?.phoneIdentity ?? null, after.phoneIdentity]
      if (phoneBefore !== null && phoneBefore !== phoneAfter) phonesGivenUp.add(phoneBefore)
      person.state = after
      if (phoneAfter === null || phoneAfter === phoneBefore) return
      // The oldest who has the number is meant by it; who answered to it without having it gives way.
      const holder = byPhone.get(phoneAfter)
      const isHeld = holder !== undefined && holder.state?.phoneIdentity === phoneAfter
      if (!isHeld || person.id < holder.id) byPhone.set(phoneAfter, person)
    },
  }
}

const keyOf = (state: ContactState | undefined): string | null =>
  state === undefined || state.email === null ? null : emailKey(state.email)
