import { secondsNow } from '../../provider-webhook.ts'
import type { Shop } from '../shop.ts'
import { meet, nameOf, pick, type Run, type State, shown } from './people-check.ts'
import type { Customer, Named } from './people-model.ts'
import { moveTo, NUMBERS, type Person } from './truth.ts'

export function writes(who: number, at: number, how: 'both' | 'phone' | 'user id'): Run {
  return async (state, shop) => {
    const writer = state.persons[who]!
    const named = namedBy(writer, how)
    if (!canBeKnown(state, writer, named)) return false
    const text = `text ${shop.story.length}`
    const seconds = secondsNow()
    await shop.report(
      shop.numbers[at]!.events.message(named, text, { timestamp: seconds }),
      `${writer.name} writes to ${nameOf(at)}, ${shown(named)}`,
    )
    const customer = state.people.identify(named, writer.name, seconds)
    state.people.writesUnder(customer, named.phone)
    const conversation = await meet(state, shop, customer, at, { text })
    conversation.texts.push(text)
    conversation.unread += 1
    return true
  }
}

/** Some providers report the number that was dialled. */
export function writesFromDialled(who: number, at: number): Run {
  return async (state, shop) => {
    const writer = state.persons[who]!
    const customer = state.people.byPhone(writer.dialled)
    if (customer === undefined) return false
    const text = `text ${shop.story.length}`
    await shop.report(
      shop.numbers[at]!.events.message({ phone: writer.dialled }, text),
      `${writer.name} writes to ${nameOf(at)}, shown as the dialled number ${writer.dialled}`,
    )
    state.people.writesUnder(customer, writer.dialled)
    const conversation = await meet(state, shop, customer, at, { text })
    conversation.texts.push(text)
    conversation.unread += 1
    return true
  }
}

/** With ids as the event names them. A person without a number shows the user id alone. */
function namedBy({ phone, userId }: Person, how: 'both' | 'phone' | 'user id') {
  return { phone: how === 'user id' ? null : phone, userId: how === 'phone' && phone !== null ? null : userId }
}

/**
 * By a number alone the service takes a writer for the last one who was reported with it, and one with a user id for the one
 * without a user id: it cannot do better, so such events do not occur.
 */
export function canBeKnown({ people }: State, { name }: Person, { phone, userId }: Named) {
  const holder = people.byPhone(phone)
  if (holder === undefined || holder.person === name) return true
  return userId !== null && holder.userId !== null && !holder.awaitsUserId
}

export function echoes(who: number, at: number, namesIds: boolean): Run {
  return async (state, shop) => {
    const writer = state.persons[who]!
    const named = namedBy(writer, namesIds ? 'both' : 'phone')
    if (!canBeKnown(state, writer, named)) return false
    const text = `echo ${shop.story.length}`
    const seconds = secondsNow()
    await shop.report(
      shop.numbers[at]!.events.echo(named, text, { timestamp: seconds }),
      `The shop writes from the app of ${nameOf(at)} to ${writer.name}, ${shown(named)}`,
    )
    const conversation = await meet(state, shop, state.people.identify(named, writer.name, seconds), at, { text })
    conversation.texts.push(text)
    conversation.unread = 0
    return true
  }
}

/** To a number that no one has, reported. */
export function changesNumber(who: number, to: number, at: number, namesIds: boolean): Run {
  return async (state, shop) => {
    const mover = state.persons[who]!
    const [from, next, former] = [mover.phone, NUMBERS[to]!, mover.userId]
    const customer = state.people.byPhone(from)
    if (from === null || state.persons.some(({ phone }) => phone === next) || customer?.person !== mover.name)
      return false
    const holder = state.people.byPhone(next)
    if (holder !== undefined && holder.userId === null && holder.person !== mover.name) return false
    if (customer.userId !== null && customer.userId !== former) return false
    moveTo(mover, next)
    const seconds = secondsNow()
    const event = shop.numbers[at]!.events.numberChanged(
      { phone: from, userId: former },
      { phone: next, userId: mover.userId },
      { namesIds, timestamp: seconds },
    )
    await shop.report(
      event,
      `${mover.name} changes the number from ${from} to ${next}; the provider reports it to ${nameOf(at)}${namesIds ? ` with the ids ${former} and ${mover.userId}` : ' without ids'}`,
    )
    const formerCustomer = namesIds ? state.people.byUserId(former) : undefined
    if (formerCustomer !== undefined && formerCustomer !== customer) state.people.join(formerCustomer, customer)
    state.people.changeNumber(customer, next, namesIds ? mover.userId : null, seconds)
    await notice(state, shop, customer, at, `User changed from ${from} to ${next}`)
    return true
  }
}

async function notice(state: State, shop: Shop, customer: Customer, at: number, text: string): Promise<void> {
  const conversation = await meet(state, shop, customer, at, { text })
  conversation.texts.push(text)
  conversation.unread += 1
}

export function changesUserId(who: number, at: number): Run {
  return async (state, shop) => {
    const changer = state.persons[who]!
    const former = changer.userId
    const customer = state.people.byUserId(former)
    if (customer?.userId !== former) return false
    changer.userId = `${former.slice(0, 20)}x${shop.story.length}`
    const event = shop.numbers[at]!.events.userIdChanged({ phone: customer.phone, userId: former }, changer.userId)
    await shop.report(
      event,
      `${changer.name} changes the user id from ${former} to ${changer.userId}; the provider reports it to ${nameOf(at)}`,
    )
    state.people.changeUserId(customer, changer.userId)
    await notice(state, shop, customer, at, 'User changed the user id')
    return true
  }
}

/** The status of a template names the user id of the person that it reached. */
export function reportsStatus(place: number): Run {
  return async (state, shop) => {
    const sent = pick(state.sent, place)
    const reached = state.persons.find(({ name }) => name === sent?.name)
    const holder = state.people.byPhone(sent?.phone ?? null)
    if (sent === undefined || reached === undefined || holder?.person !== sent.name || reached.phone !== sent.phone)
      return false
    const existing = state.people.byUserId(reached.userId)
    if (existing !== undefined && existing !== holder) return false
    if (holder.userId !== null && holder.userId !== reached.userId && !holder.awaitsUserId) return false
    const seconds = secondsNow()
    const event = shop.numbers[sent.at]!.events.status(sent.wamid, 'delivered', reached, { timestamp: seconds })
    await shop.report(
      event,
      `The provider reports the template to ${sent.phone} as delivered to ${reached.name}, ${reached.userId}`,
    )
    state.people.identify(reached, reached.name, seconds)
    return true
  }
}

/** Without a report: the former owner is left with the user id. */
export function takesNumber(who: number, to: number): Run {
  return async ({ persons }, shop) => {
    const [taker, phone] = [persons[who]!, NUMBERS[to]!]
    const owner = persons.find((one) => one.phone === phone)
    if (owner === taker || owner === undefined) return false
    owner.phone = null
    moveTo(taker, phone)
    shop.say(
      `${taker.name} gets the number ${phone}, which ${owner.name} had, and the user id ${taker.userId}; nothing is reported`,
    )
    return false
  }
}
