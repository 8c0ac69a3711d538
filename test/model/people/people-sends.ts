import { UTILITY } from '../../people/people-world.ts'
import { secondsNow } from '../../provider-webhook.ts'
import { same, Wrong } from '../shop.ts'
import { expectContact, meet, nameOf, pick, type Run } from './people-check.ts'

export function replies(place: number): Run {
  return async ({ people }, shop) => {
    const conversation = pick(people.conversations, place)
    if (conversation === undefined) return false
    const text = `answer ${shop.story.length}`
    shop.say(`The shop answers in conversation ${conversation.chatId}`)
    const { status, body } = await shop.reply(conversation.chatId, {
      type: 'template',
      template: { name: 'shipping_notice' },
    })
    const { customer } = conversation
    if (customer === null) {
      if (status === 200)
        throw new Wrong(
          `An answer in the conversation of an erased person reached ${await shop.recipientOf(body.data.wamid)}`,
        )
      return true
    }
    if (status === 400 && conversation.isReplaced) return true
    if (status !== 200)
      throw new Wrong(
        `The answer to ${customer.person} in conversation ${conversation.chatId} is refused with ${status}: ${JSON.stringify(body)} (${text})`,
      )
    same(
      `The recipient of the answer to ${customer.person} in conversation ${conversation.chatId}`,
      await shop.recipientOf(body.data.wamid),
      customer.address ?? customer.userId,
    )
    conversation.texts.push(TEMPLATE_TEXT)
    conversation.unread = 0
    const seen = (await shop.conversations()).find(({ chatId }) => chatId === conversation.chatId)
    expectContact(people, customer, seen)
    return true
  }
}

export const TEMPLATE_TEXT = 'Your parcel has left our warehouse.'

/** To the number of a person; the provider's answer may name the user id. */
export function sends(who: number, at: number, namesIds: boolean): Run {
  return async (state, shop) => {
    const { name, phone, userId } = state.persons[who]!
    if (phone === null) return false
    const named = { phone, userId: namesIds ? userId : null }
    const holder = state.people.byPhone(phone)
    // An answer that names another user id says that the number was recycled, after the message went out.
    if (holder !== undefined && holder.person !== name) return false
    if (holder?.userId && holder.userId !== userId && !holder.awaitsUserId) return false
    if (namesIds && holder !== state.people.byUserId(userId) && state.people.byUserId(userId) !== undefined)
      return false
    const recipient = phone.replace(/^52(?=\d{10}$)/, '521')
    await shop.identify(recipient, namesIds ? { userId } : {}, at)
    shop.say(
      `The shop sends a template from ${nameOf(at)} to ${recipient}${namesIds ? `; the provider names ${userId}` : ''}`,
    )
    const { status, body } = await shop.send(recipient, UTILITY, at)
    if (status !== 200) throw new Wrong(`The send is refused with ${status}: ${JSON.stringify(body)}`)
    const isNew = holder === undefined
    const customer = state.people.identify(named, name, secondsNow())
    // The number as given is the address of answers until the customer writes.
    if (isNew) customer.address = recipient
    const conversation = await meet(state, shop, customer, at, { chatId: body.data.chatId })
    state.sent.push({ wamid: body.data.wamid, name, phone, at })
    conversation.texts.push(TEMPLATE_TEXT)
    conversation.unread = 0
    if (namesIds) await nextSecond()
    return true
  }
}

export function sendsToUserId(who: number, at: number): Run {
  return async (state, shop) => {
    const { name, userId } = state.persons[who]!
    shop.say(`The shop sends a template from ${nameOf(at)} to the user id ${userId} of ${name}`)
    const { status, body } = await shop.send(userId, UTILITY, at)
    if (status !== 200) throw new Wrong(`The send is refused with ${status}: ${JSON.stringify(body)}`)
    same('The recipient of the send', await shop.recipientOf(body.data.wamid), userId)
    const customer = state.people.identify({ phone: null, userId }, name, secondsNow())
    const conversation = await meet(state, shop, customer, at, { chatId: body.data.chatId })
    conversation.texts.push(TEMPLATE_TEXT)
    conversation.unread = 0
    return true
  }
}

/** To a number that the provider knows under the person's own, which its answer names. */
export function dials(who: number, at: number): Run {
  return async ({ people, persons }, shop) => {
    const { name, phone, dialled } = persons[who]!
    const known = people.byPhone(dialled)
    const holder = people.byPhone(phone)
    if (phone === null || (holder !== undefined && holder !== known)) return false
    if (known !== undefined && holder !== known) return false
    await shop.identify(dialled, { waId: phone }, at)
    shop.say(`The shop dials ${dialled} from ${nameOf(at)}; the provider knows ${name} there as ${phone}`)
    const { status, body } = await shop.send(dialled, UTILITY, at)
    if (status !== 200) throw new Wrong(`The send is refused with ${status}: ${JSON.stringify(body)}`)
    same('The recipient of the send', await shop.recipientOf(body.data.wamid), dialled)
    const customer = known ?? people.dial(name, dialled)
    const conversation = await meet({ people, persons, sent: [] }, shop, customer, at, { chatId: body.data.chatId })
    // The answer comes after the contact.
    if (known === undefined) Object.assign(customer, { phone, phoneSince: secondsNow() })
    conversation.texts.push(TEMPLATE_TEXT)
    conversation.unread = 0
    return true
  }
}

/** Events carry whole seconds: one of the second in which the service learnt something else would seem older. */
const nextSecond = () => new Promise((resume) => setTimeout(resume, 1_000 - (Date.now() % 1_000)))
