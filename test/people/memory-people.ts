import { identify } from '../../src/people/identify.ts'
import { changeNumber, changeUserId, type NumberChange, type UserIdChange } from '../../src/people/identity-change.ts'
import { type Customer, createPeople, customerOf, type People } from '../../src/people/people.ts'

export const [P1, P2, P3] = ['393331110001', '393331110002', '393331110003']

export const [U1, U2, U3] = ['IT.1', 'IT.2', 'IT.3']

export const [ACCOUNT, OTHER_ACCOUNT] = ['WABA1', 'WABA2']

const SECOND = 1_000

export const NOON = Date.parse('2026-11-23T12:00:00Z')

type Names = { phone?: string; userId?: string; account?: string; at?: number }

/** People of one company, without customers, with conversations of senders 1 and 2 of one account. */
export function createWorld() {
  const people = createPeople([P1, P2, P3])
  let conversations = 100
  const receive = ({ phone, userId, account = ACCOUNT, at = 0 }: Names) => {
    const customer = identify(people, {
      ...{ phone: phone ?? null, userId: userId ?? null, account, at: NOON + at * SECOND },
    })
    if (customer === undefined) throw new Error('An event names a customer')
    return customer
  }
  const converse = (customer: Customer, senderId = 1, account = ACCOUNT) => {
    conversations += 1
    const conversation = {
      ...{
        id: conversations,
        senderId,
        account,
        customerId: customer.id,
        userId: null,
        messageCount: 0,
        isClosed: false,
      },
    }
    customer.conversations.push(conversation)
    return conversation
  }
  const report = (change: Partial<NumberChange> & { at?: number }) =>
    changeNumber(people, {
      ...{ from: P1, to: P2, previousUserIds: [], userId: null, account: ACCOUNT, ...change },
      at: NOON + (change.at ?? 0) * SECOND,
    })
  const renameUser = (change: Partial<UserIdChange> & { at?: number }) =>
    changeUserId(people, {
      ...{ phone: null, previousUserIds: [U1], userId: U2, isMessage: true, account: ACCOUNT, ...change },
      at: NOON + (change.at ?? 0) * SECOND,
    })
  return { people, receive, converse, report, renameUser, of: (identity: string) => customerOf(people, identity) }
}

export const contactOf = (people: People, { contactId }: Customer) => people.contacts.get(contactId)

export const addressOf = ({ phone, identities }: Customer) => ({
  phone,
  userIds: [...identities].flatMap(([identity, { retiredAt }]) =>
    retiredAt === null && /^[A-Z]/.test(identity) ? [identity] : [],
  ),
})
