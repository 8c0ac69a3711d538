import fc from 'fast-check'
import { secondsNow } from '../../provider-webhook.ts'
import type { Model } from '../run.ts'
import { type Conversation, openShop, type Shop, same, Wrong } from '../shop.ts'
import { type Change, Chat, type Written } from './inbox-model.ts'

type Listed = Conversation & { status: string; assignee: string | null; lastMessage: Written | null }
type Modelled = { chat: Chat; chatId: number }
/** `chats`: by the place of the customer, the one with the latest activity last. */
type State = { customers: string[]; chats: Map<number, Modelled>; texts: number }
type Run = (state: State, shop: Shop) => Promise<void>

const NAMES = ['Ada', 'Ben', 'Cem']
const DAY_S = 24 * 3600

const command = (title: string, run: Run): fc.AsyncCommand<State, Shop> => ({
  check: () => true,
  run: async (state, shop) => {
    await run(state, shop)
    await compare(state, shop)
  },
  toString: () => title,
})

const customer = fc.nat(NAMES.length - 1)
const age = fc.constantFrom(0, 0, 3 * DAY_S)
const change = fc.constantFrom<Change>(
  ...([{ status: 'closed' }, { status: 'snoozed' }, { status: 'open' }, { unreadMessages: 0 }] as const),
  ...([{ assignee: 'Grace' }, { assignee: null }, { status: 'closed', unreadMessages: 0 }] as const),
)
const many = fc.integer({ min: 1, max: 3 })

const commands: Model<State>['commands'] = [
  fc.tuple(customer, age).map(([who, seconds]) => command(`writes ${who} ${seconds}`, writes(who, seconds))),
  fc.tuple(customer, many, many).map((all) => command(`together ${all.join(' ')}`, together(...all))),
  fc.tuple(customer, many, many).map((all) => command(`together ${all.join(' ')}`, together(...all))),
  customer.map((who) => command(`echo ${who}`, echoes(who))),
  customer.map((who) => command(`answer ${who}`, together(who, 0, 1))),
  fc.tuple(customer, change).map(([who, one]) => command(`change ${who} ${JSON.stringify(one)}`, changes(who, one))),
]

export const inbox: Model<State> = {
  name: 'inbox',
  isTimed: false,
  open: async (stage) => ({
    model: { customers: NAMES.map((_, place) => `39333666000${place}`), chats: new Map(), texts: 0 },
    real: await openShop(stage, [{}]),
  }),
  commands,
  end: async ({ chats }, shop) => {
    for (const { chat, chatId } of chats.values()) {
      const texts = chat.messages.map(({ text }) => text)
      same(`The messages of conversation ${chatId}`, await shop.texts(chatId), texts)
    }
  },
}

const newText = (state: State): string => {
  state.texts += 1
  return `text ${state.texts}`
}

function writes(who: number, ageSeconds: number): Run {
  return async (state, shop) => {
    const text = newText(state)
    const late = ageSeconds === 0 ? '' : `, ${ageSeconds / DAY_S} days before it arrives`
    await shop.report(
      shop.numbers[0]!.events.message(named(state, who), text, { timestamp: secondsNow() - ageSeconds }),
      `${NAMES[who]} writes "${text}"${late}`,
    )
    const modelled = await moveToTop(state, shop, who)
    modelled.chat.receive(text)
  }
}

/** The business writes from its phone app. */
function echoes(who: number): Run {
  return async (state, shop) => {
    const text = newText(state)
    await shop.report(
      shop.numbers[0]!.events.echo(named(state, who), text),
      `The shop writes "${text}" in its app to ${NAMES[who]}`,
    )
    const modelled = await moveToTop(state, shop, who)
    modelled.chat.answer(text)
  }
}

/** The customer writes while the shop answers: the order is the service's, the counts follow from it. */
function together(who: number, messages: number, answers: number): Run {
  return async (state, shop) => {
    const found = state.chats.get(who)
    if (found === undefined) return
    const { chat, chatId } = found
    const written = Array.from({ length: messages }, () => newText(state))
    const answered = Array.from({ length: answers }, () => newText(state))
    const events = written.map((text) => ({ text, event: shop.numbers[0]!.events.message(named(state, who), text) }))
    const [, replies] = await Promise.all([
      Promise.all(
        events.map(({ text, event }) => shop.report(event, `${NAMES[who]} writes "${text}" at the same time`)),
      ),
      Promise.all(
        answered.map(async (text) => {
          shop.say(`The shop answers ${NAMES[who]} "${text}" at the same time`)
          return { said: text, answer: await shop.reply(chatId, { type: 'text', text }) }
        }),
      ),
    ])
    for (const text of written) chat.receive(text)
    for (const { said, answer } of replies) {
      if (answer.status === 200) chat.answer(said)
      else same('The refusal of an answer', answer.body.error?.code, 'session_window_closed')
    }
    chat.order(await shop.texts(chatId))
    if (written.length > 0 || replies.some(({ answer }) => answer.status === 200)) await moveToTop(state, shop, who)
  }
}

function changes(who: number, change: Change): Run {
  return async ({ chats }, shop) => {
    const found = chats.get(who)
    if (found === undefined) return
    shop.say(`The shop changes the conversation with ${NAMES[who]}: ${JSON.stringify(change)}`)
    const { status } = await shop.api('PATCH', `/whatsapp/conversations/${found.chatId}`, change)
    same('The answer to the change', status, 200)
    found.chat.change(change)
  }
}

const named = ({ customers }: State, who: number) => ({ phone: customers[who]! })

async function moveToTop(state: State, shop: Shop, who: number): Promise<Modelled> {
  const { chats, customers } = state
  const modelled = chats.get(who) ?? { chat: new Chat(), chatId: await chatIdOf(shop, customers[who]!) }
  chats.delete(who)
  chats.set(who, modelled)
  return modelled
}

async function chatIdOf(shop: Shop, phone: string): Promise<number> {
  const found = (await shop.conversations()).find(({ contact }) => contact.phone === phone)
  if (found === undefined) throw new Wrong(`There is no conversation with ${phone}`)
  return found.chatId
}

async function compare({ chats }: State, shop: Shop): Promise<void> {
  const list = (await shop.conversations()) as Listed[]
  const expected = [...chats.values()].toReversed()
  same(
    'The order of the conversations',
    list.map(({ chatId }) => chatId),
    expected.map(({ chatId }) => chatId),
  )
  for (const [place, { chat, chatId }] of expected.entries()) {
    const { unreadMessages, status, assignee, lastMessage } = list[place]!
    const last = chat.messages.at(-1)!
    same(
      `Unread messages, status, assignee and last message of conversation ${chatId}`,
      [unreadMessages, status, assignee, lastMessage?.text, lastMessage?.direction],
      [chat.unread, chat.status, chat.assignee, last.text, last.direction],
    )
  }
}
