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

/** The effect of one item on its contact; `full`: none, because its custom fields exceed their limits. */
export type ItemResult = {
  readonly target: BatchContact
  readonly kind: 'created' | 'updated' | 'unchanged' | 'full'
  /** The contact after this item; its id is the target's. */
  readonly state: ContactState
  readonly fault?: string
}

/** A contact of a batch, as far as the batch is applied. */
export type BatchContact = {
  /** Of a new contact: given when it is written. */
  id: number
  readonly known: Match | undefined
  state: ContactState | undefined
  readonly consents: ConsentSet[]
  readonly releasedPhones: Set<string>
}

export type WhenFull = 'refuse' | 'keep'

/** Higher than every id, so that a new contact is younger than all known ones. */
const FIRST_NEW_ID = 2 ** 52

/**
 * Applies the items one after another to the contacts that they match, in memory (spec: Contacts, Matching rules).
 * `matches` holds every contact that an item can match when it is processed: see `readMatches`.
 */
export function applyItems(items: readonly Item[], matches: readonly Match[], whenFull: WhenFull): ItemResult[] {
  const index = createIndex(matches)
  return items.map((item, place) => {
    const target = index.find(item) ?? newTarget(FIRST_NEW_ID + place)
    const result = applyItem(target, item, whenFull)
    if (result.kind === 'full') return result
    target.consents.push(...consentChanges(target.state, result.state, item.write))
    index.move(target, result.state)
    return result
  })
}

const newTarget = (id: number): BatchContact => ({
  id,
  known: undefined,
  state: undefined,
  consents: [],
  releasedPhones: new Set(),
})

function applyItem(target: BatchContact, item: Item, whenFull: WhenFull): ItemResult {
  const { write } = item
  const before = target.state
  const applied = withOwnConsent(before, item, applyWrite(target.id, before, write))
  const fault = write.customFields && customFieldsFault(applied.customFields)
  if (fault !== undefined && whenFull === 'refuse') return { target, kind: 'full', state: applied, fault }
  const state = fault === undefined ? applied : { ...applied, customFields: before?.customFields ?? {} }
  return { target, kind: before === undefined ? 'created' : isSame(before, state) ? 'unchanged' : 'updated', state }
}

/**
 * A contact that is matched by phone and takes another email: what it said about the earlier one does not count for the
 * new one.
 */
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
 * The contacts that the results changed, each in its last state, with every change of consent in between; with `all`,
 * unchanged contacts are written again, too.
 */
export function changesOf(results: readonly ItemResult[], { all = false } = {}): Change[] {
  const targets = new Set(results.filter((result) => result.kind !== 'full').map((result) => result.target))
  return [...targets].flatMap(({ id, known, state, consents, releasedPhones }) => {
    if (state === undefined) return []
    const isUnchanged = known !== undefined && isSame(known, state) && consents.length + releasedPhones.size === 0
    if (isUnchanged && !all) return []
    const ownConsents = consents.map((one) => ({ ...one, contact_id: id }))
    return [{ known, state: { ...state, id }, consents: ownConsents, releasedPhones: [...releasedPhones] }]
  })
}

/** Which contact an email, a phone or an id matches, while contacts change. */
function createIndex(matches: readonly Match[]) {
  const targets = matches.map((match): BatchContact => ({ ...newTarget(match.id), known: match, state: match }))
  const byId = new Map(targets.map((target) => [target.id, target]))
  const byEmail = new Map<string, BatchContact>()
  /** An alias matches while no contact has the number. */
  const byAlias = new Map<string, BatchContact>()
  const holders = new Map<string, Set<BatchContact>>()

  const addHolder = (phone: string, target: BatchContact) => {
    const known = holders.get(phone)
    if (known === undefined) holders.set(phone, new Set([target]))
    else known.add(target)
  }
  for (const target of targets) {
    if (target.known?.emailKey) byEmail.set(target.known.emailKey, target)
    if (target.known?.phoneIdentity) addHolder(target.known.phoneIdentity, target)
    for (const alias of target.known?.aliases ?? []) byAlias.set(alias, target)
  }

  return {
    find: ({ id, emailKey: email, phoneIdentity: phone }: Item): BatchContact | undefined => {
      const named = id === undefined ? undefined : byId.get(id)
      if (named && keyOf(named.state) === email && (named.state?.phoneIdentity ?? null) === phone) return named
      const addressed = email === null ? undefined : byEmail.get(email)
      if (addressed !== undefined || phone === null) return addressed
      return oldest(holders.get(phone) ?? []) ?? byAlias.get(phone)
    },
    move: (target: BatchContact, after: ContactState): void => {
      const [emailBefore, emailAfter] = [keyOf(target.state), keyOf(after)]
      if (emailBefore !== null && emailBefore !== emailAfter) byEmail.delete(emailBefore)
      if (emailAfter !== null) byEmail.set(emailAfter, target)
      const [phoneBefore, phoneAfter] = [target.state?.phoneIdentity ?? null, after.phoneIdentity]
      target.state = after
      if (phoneBefore === phoneAfter) return
      if (phoneAfter !== null) addHolder(phoneAfter, target)
      if (phoneBefore === null) return
      target.releasedPhones.add(phoneBefore)
      holders.get(phoneBefore)?.delete(target)
      // A contact that gives a number up is no longer known by it (forgetAliases).
      if (byAlias.get(phoneBefore) === target) byAlias.delete(phoneBefore)
    },
  }
}

function oldest(targets: Iterable<BatchContact>): BatchContact | undefined {
  let first: BatchContact | undefined
  for (const target of targets) if (first === undefined || target.id < first.id) first = target
  return first
}

const keyOf = (state: ContactState | undefined): string | null =>
  state === undefined || state.email === null ? null : emailKey(state.email)
