import fc from 'fast-check'
import { UTILITY } from '../people/people-world.ts'
import { type Chat, type Expected, keyOf, Limits, type Outcome } from './limits-model.ts'
import { nameOf } from './people/people-check.ts'
import type { Model } from './run.ts'
import { type Answer, openShop, type Shop, same, Wrong } from './shop.ts'

type Modelled = { chat: Chat; chatId: number; unread: number; texts: number }
type State = { limits: Limits; customers: string[]; chats: Map<string, Modelled> }
type Run = (state: State, shop: Shop) => Promise<void>

const HOUR_MS = 3600 * 1000
const DAILY_LIMIT = 3
const NUMBER = { dailyLimit: DAILY_LIMIT, portfolioId: 'PORTFOLIO' }
const CUSTOMERS = ['Ada', 'Ben', 'Cem', 'Dia', 'Eva', 'Fay']

const command = (title: string, run: Run): fc.AsyncCommand<State, Shop> => ({
  check: () => true,
  run: async (state, shop) => {
    await run(state, shop)
    await compare(state, shop)
  },
  toString: () => title,
})

const customer = fc.nat(CUSTOMERS.length - 1)
const number = fc.nat(1)
const outcome = fc.constantFrom<Outcome>('accepted', 'accepted', 'refused', 'unknown')
const move = fc.constantFrom(1000, HOUR_MS, 12 * HOUR_MS, 24 * HOUR_MS - 1000, 24 * HOUR_MS)
const age = fc.constantFrom(0, 0, 0, HOUR_MS, 23 * HOUR_MS, 25 * HOUR_MS)

const commands: Model<State>['commands'] = [
  fc.tuple(customer, number, outcome).map((all) => command(`template ${all.join(' ')}`, sends(...all, true))),
  fc.tuple(customer, number, outcome).map((all) => command(`template ${all.join(' ')}`, sends(...all, true))),
  fc.tuple(customer, number, outcome).map((all) => command(`text ${all.join(' ')}`, sends(...all, false))),
  fc.tuple(customer, number, outcome).map((all) => command(`reply ${all.join(' ')}`, replies(...all))),
  fc.tuple(customer, number, age).map((all) => command(`writes ${all.join(' ')}`, writes(...all))),
  move.map((ms) => command(`clock ${ms}`, moves(ms))),
]

export const limits: Model<State> = {
  name: 'limits',
  isTimed: true,
  open: async (stage) => {
    const customers = CUSTOMERS.map((_, place) => `39333777000${place}`)
    // The database dates arrivals by its own clock, so histories happen in the past; the provider writes whole seconds.
    stage.clock?.set(new Date(Math.floor(Date.now() / 1000) * 1000 - 60 * 24 * HOUR_MS))
    const model = { limits: new Limits(DAILY_LIMIT), customers, chats: new Map<string, Modelled>() }
    return { model, real: await openShop(stage, [NUMBER, NUMBER]) }
  },
  commands,
  end: async ({ chats }, shop) => {
    for (const { chatId, texts } of chats.values())
      same(`The number of messages of conversation ${chatId}`, (await shop.texts(chatId)).length, texts)
  },
}

const now = ({ stage }: Shop): number => stage.clock?.now().getTime() ?? Date.now()

function moves(ms: number): Run {
  return async (_, shop) => {
    shop.say(`${ms / HOUR_MS < 1 ? `${ms / 1000} s` : `${Math.round((ms / HOUR_MS) * 100) / 100} h`} pass`)
    shop.stage.clock?.advance(ms)
  }
}

/** The age of a message on arrival. */
function writes(who: number, at: number, ageMs: number): Run {
  return async (state, shop) => {
    const phone = state.customers[who]!
    const sentAt = now(shop) - ageMs
    const arrived = ageMs === 0 ? '' : `, ${ageMs / HOUR_MS} h before it arrives`
    await shop.report(
      shop.numbers[at]!.events.message({ phone }, 'Hello', { timestamp: sentAt / 1000 }),
      `${CUSTOMERS[who]} writes to ${nameOf(at)}${arrived}`,
    )
    const chat = { customer: phone, at }
    state.limits.receive(chat, sentAt)
    const modelChat = await modelled(state, shop, chat)
    state.chats.set(keyOf(chat), { ...modelChat, unread: modelChat.unread + 1, texts: modelChat.texts + 1 })
  }
}

async function modelled({ chats }: State, shop: Shop, chat: Chat): Promise<Modelled> {
  const modelChat = chats.get(keyOf(chat))
  if (modelChat !== undefined) return modelChat
  const { channelId } = shop.numbers[chat.at]!
  const found = (await shop.conversations()).find(
    ({ contact, sender }) => contact.phone === chat.customer && sender.channelId === channelId,
  )
  if (found === undefined) throw new Wrong(`There is no conversation with ${chat.customer} of ${nameOf(chat.at)}`)
  return { chat, chatId: found.chatId, unread: 0, texts: 0 }
}

function sends(who: number, at: number, outcome: Outcome, isTemplate: boolean): Run {
  return async (state, shop) => {
    const phone = state.customers[who]!
    shop.say(
      `The shop sends a ${isTemplate ? 'utility template' : 'text'} from ${nameOf(at)} to ${CUSTOMERS[who]}; the provider ${answerOf(outcome)}`,
    )
    const answer = await withOutcome(shop, outcome, () =>
      shop.send(phone, isTemplate ? UTILITY : { type: 'text', text: 'An offer' }, at),
    )
    const chat = { customer: phone, at }
    await judge(state, shop, chat, state.limits.send(chat, !isTemplate, outcome, now(shop)), answer)
  }
}

function replies(who: number, at: number, outcome: Outcome): Run {
  return async (state, shop) => {
    const chat = { customer: state.customers[who]!, at }
    const modelChat = state.chats.get(keyOf(chat))
    if (modelChat === undefined) return
    shop.say(
      `The shop answers ${CUSTOMERS[who]} in the conversation of ${nameOf(at)}; the provider ${answerOf(outcome)}`,
    )
    const answer = await withOutcome(shop, outcome, () =>
      shop.reply(modelChat.chatId, { type: 'text', text: 'An answer' }),
    )
    await judge(state, shop, chat, state.limits.send(chat, true, outcome, now(shop)), answer)
  }
}

const answerOf = (outcome: Outcome): string =>
  ({ accepted: 'accepts', refused: 'refuses', unknown: 'accepts and does not answer' })[outcome]

async function withOutcome(shop: Shop, outcome: Outcome, run: () => Promise<Answer>): Promise<Answer> {
  const { control } = shop.stage.service
  const behave = (isOn: boolean) =>
    outcome === 'refused'
      ? control('PUT', '/behaviour', { refuseWithCode: isOn ? 131026 : null })
      : control('PUT', '/behaviour', { resetBeforeAnswer: isOn ? true : null })
  if (outcome !== 'accepted') await behave(true)
  const answer = await run()
  if (outcome !== 'accepted') await behave(false)
  return answer
}

const ANSWERS: Record<Expected, [status: number, code: string | undefined]> = {
  sent: [200, undefined],
  refused: [422, 'recipient_not_on_whatsapp'],
  unknown: [503, 'send_outcome_unknown'],
  window: [422, 'session_window_closed'],
  limit: [429, 'rate_limit_exceeded'],
}

async function judge(state: State, shop: Shop, chat: Chat, expected: Expected, answer: Answer): Promise<void> {
  const { limits: model, chats, customers } = state
  const places = `${model.taken(now(shop)).length} of ${model.dailyLimit} places are taken, the window is ${model.isOpen(chat, now(shop)) ? 'open' : 'closed'}`
  same(
    `The answer to the send to ${CUSTOMERS[customers.indexOf(chat.customer)]} (${places})`,
    [answer.status, answer.body.error?.code],
    ANSWERS[expected].filter((one) => one !== undefined).length === 1 ? [200, null] : ANSWERS[expected],
  )
  if (expected === 'window' || expected === 'limit') return
  const modelChat = await modelled(state, shop, chat)
  chats.set(keyOf(chat), {
    ...modelChat,
    unread: expected === 'refused' ? modelChat.unread : 0,
    texts: modelChat.texts + 1,
  })
}

async function compare({ limits: model, chats }: State, shop: Shop): Promise<void> {
  const list = await shop.conversations()
  same('The number of conversations', list.length, chats.size)
  for (const { chat, chatId, unread } of chats.values()) {
    const seen = list.find((one) => one.chatId === chatId) as
      | { unreadMessages: number; window?: { isOpen: boolean } }
      | undefined
    same(`The unread messages of conversation ${chatId}`, seen?.unreadMessages, unread)
    same(`Whether the window of conversation ${chatId} is open`, seen?.window?.isOpen, model.isOpen(chat, now(shop)))
  }
}
