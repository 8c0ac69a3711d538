import type { Mutant } from '../mutants/mutant.ts'

/** A fault that the histories of a model must find. */
export type Planted = Mutant & { model: 'people' | 'consent' | 'limits' | 'inbox' }

const IDENTIFY = 'src/people/identify.ts'
const CHANGES = 'src/people/identity-change.ts'
const CONSENT = 'src/people/consent/consent.ts'
const LEDGER = 'src/people/consent/consent-ledger.ts'
const SENDS = 'src/sends/batch/decide-sends.ts'
const OUTCOMES = 'src/sends/batch/send-write-store.ts'

export const PLANTED: Planted[] = [
  {
    title: 'an answer goes to the phone of the contact',
    model: 'people',
    file: 'src/conversations/list/conversation-list-store.ts',
    find: 'customer.contact_id, customer.phone, contact.first_name',
    replace: 'customer.contact_id, contact.phone, contact.first_name',
  },
  {
    title: 'a contact without email and phone cannot be named',
    model: 'people',
    file: 'src/contacts/contact.ts',
    find: 'state.phone === null && !hadNeither)',
    replace: 'state.phone === null)',
  },
  {
    title: 'a repeated event brings an erased person back',
    model: 'people',
    file: 'src/inbound/handling/batch/record-inbound.ts',
    find: 'return records.filter((_, place) => areErased[place])',
    replace: 'return records.filter((_, place) => areErased[place] && false)',
  },
  {
    title: 'the new user id after a reported number change is taken for another person’s',
    model: 'people',
    file: CHANGES,
    find: '    if (isUserId(identity) && identity !== userId) retire(people, former, identity, at)\n',
    replace: '',
  },
  {
    title: 'an unreported other user id is taken for the same person’s',
    model: 'people',
    file: IDENTIFY,
    find: 'if (currentUserId(holder, account) !== undefined) return identifyRecycled(people, named, holder, user)',
    replace: '',
  },
  {
    title: 'the new user id of user_changed_user_id is not learnt',
    model: 'people',
    file: CHANGES,
    find: '  if (!customer.identities.has(userId)) addIdentity(people, customer, userId, account, at)\n',
    replace: '',
  },
  {
    title: 'the former number stays with a customer who changed it',
    model: 'people',
    file: CHANGES,
    find: '  retirePhones(people, former, at, phoneIdentity(to))\n  giveNumber(people, joinNewUserId(people, former, change), { phone: to, userId, account, at })\n',
    replace: '',
  },
  {
    title: 'the ids that the answer to a send names are discarded',
    model: 'people',
    file: 'src/sends/batch/send-batches.ts',
    find: 'if (recipients.length > 0) await learnRecipients(recipients)',
    replace: 'if (recipients.length > 0) await learnRecipients([])',
  },
  {
    title: 'the dialled number stays the address of answers',
    model: 'people',
    file: 'src/inbound/handling/batch/decide-inbound.ts',
    find: 'if (customer !== undefined && record.opensWindow) writeUnder(people, customer, named)\n',
    replace: '',
  },
  {
    title: 'a send overlooks the stored contact of a customer',
    model: 'people',
    file: 'src/sends/batch/decide-sends.ts',
    find: 'const holders = new Map(row.holders.map((holder) => [holder.identity, holder]))',
    replace: 'const holders = new Map(row.holders.map((holder) => [send.identity, holder] as const).slice(0, 0))',
  },
  {
    title: 'a customer stays with the deleted contact when another is stored',
    model: 'people',
    file: 'src/people/matching/identity-lock.ts',
    find: '  const value = await work(tx, { ...locked, matches }, async () => {})\n  await attachCustomers(tx, companyId, detached)\n',
    replace: '  const value = await work(tx, { ...locked, matches }, async () => {})\n',
  },
  {
    title: 'an answer leaves the messages before it unread',
    model: 'inbox',
    file: OUTCOMES,
    find: 'reached.length > 0 && readUpTo(tx, reached)',
    replace: 'reached.length < 0 && readUpTo(tx, reached)',
  },
  {
    title: 'an answer reads what the customer writes after it',
    model: 'inbox',
    file: 'src/conversations/recording/conversation-write-store.ts',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the source has it
    find: 'least(conversation.unread_messages, (${writtenAfter(sql`answered.seq`)}))',
    replace: '0',
  },
  {
    title: 'a message leaves a closed conversation closed',
    model: 'inbox',
    file: 'src/conversations/recording/conversation-write-store.ts',
    find: "when input.is_written_to then 'open' else",
    replace: 'else',
  },
  {
    title: 'a change of the status ends the assignment',
    model: 'inbox',
    file: 'src/conversations/conversation-store.ts',
    find: 'then activity.assignee else',
    replace: 'then null else',
  },
  {
    title: 'a refused send keeps its place in the daily limit',
    model: 'limits',
    file: OUTCOMES,
    find: 'refused.length > 0 && giveBackPlaces(tx, refused)',
    replace: 'refused.length < 0 && giveBackPlaces(tx, refused)',
  },
  {
    title: 'a send whose outcome is unknown gives its place back',
    model: 'limits',
    file: OUTCOMES,
    find: "status === 'failed' && isLimited",
    replace: "status !== 'sent' && isLimited",
  },
  {
    title: 'a refused reply clears the unread messages',
    model: 'limits',
    file: OUTCOMES,
    find: "const reached = sends.filter(({ status }) => status !== 'failed').map(toMessage)",
    replace: 'const reached = sends.map(toMessage)',
  },
  {
    title: 'a send within the window takes a place of the daily limit',
    model: 'limits',
    file: SENDS,
    find: 'send.dailyLimit !== null && !isOpen && !facts.limit.isCounted',
    replace: 'send.dailyLimit !== null && !facts.limit.isCounted',
  },
  {
    title: 'each number of a portfolio has a daily limit of its own',
    model: 'limits',
    file: 'src/senders/sender.ts',
    find: 'portfolioId === null ?',
    replace: 'portfolioId !== undefined ?',
  },
  {
    title: 'the entry that arrived last counts, whenever it was said',
    model: 'consent',
    file: CONSENT,
    find: 'return ms > 0 || (ms === 0 && entry.id > than.id)',
    replace: 'return ms === ms && entry.id > than.id',
  },
  {
    title: 'an opt-out counts only under the requested identity',
    model: 'consent',
    file: LEDGER,
    find: '[...customers].flatMap((customer) => customer.identities)',
    replace: '[...customers].slice(0, 0).flatMap((customer) => customer.identities)',
  },
  {
    title: 'an opt-out under a former number is forgotten',
    model: 'consent',
    file: CONSENT,
    find: 'leftAt !== undefined && (leftAt === null || saidAt <= leftAt)',
    replace: 'leftAt !== undefined && leftAt === null',
  },
  {
    title: 'what a contact said under another email address still counts',
    model: 'consent',
    file: CONSENT,
    find: 'if (carried === undefined || isSaidAs(person, carried) || isOfOtherAddress(carried)) return own',
    replace: 'if (carried === undefined || isSaidAs(person, carried)) return own',
  },
]
