import fc from 'fast-check'
import { newUserId, UTILITY } from '../../people/people-world.ts'
import { secondsNow } from '../../provider-webhook.ts'
import type { Model } from '../run.ts'
import { type Answer, openShop, type Shop, Wrong } from '../shop.ts'
import { Ledger } from './consent-model.ts'
import type { Person, Run, Shown, State, Way } from './consent-state.ts'
import { changesEmail, saysByEmail } from './email-consent.ts'
import { requireMarketing, sendsMarketing } from './marketing.ts'

const command = (title: string, run: Run): fc.AsyncCommand<State, Shop> => ({
  check: () => true,
  run: async (state, shop) => {
    await run(state, shop)
  },
  toString: () => title,
})

const person = fc.nat(1)
const address = fc.nat(2)
const shown = fc.constantFrom<Shown>('phone', 'user id', 'both')
const value = fc.oneof({ weight: 2, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) })
const way = fc.constantFrom<Way>('PUT', 'POST', 'array', 'list')
/** Steps of 20 s before the history; null: now. */
const age = fc.option(fc.nat(100), { freq: 3 })

const commands: Model<State>['commands'] = [
  fc.tuple(person, value, shown, age).map((all) => command(`event ${all.join(' ')}`, saysAtProvider(...all))),
  fc.tuple(person, value, way, fc.nat(3)).map((all) => command(`api ${all.join(' ')}`, saysByApi(...all))),
  fc.tuple(person, shown).map((all) => command(`writes ${all.join(' ')}`, writes(...all))),
  fc.tuple(person, fc.boolean()).map((all) => command(`number ${all.join(' ')}`, changesNumber(...all))),
  fc.tuple(person).map(([who]) => command(`user id ${who}`, changesUserId(who))),
  fc.tuple(person).map(([who]) => command(`alias ${who}`, sendsToAlias(who))),
  fc.tuple(person, way).map((all) => command(`second contact ${all.join(' ')}`, createsContact(...all))),
  fc.tuple(value, fc.option(value), way).map((all) => command(`rows ${all.join(' ')}`, movesContact(...all))),
  fc.tuple(fc.nat(5), fc.boolean()).map((all) => command(`removes ${all.join(' ')}`, removes(...all))),
  fc
    .tuple(address, value, fc.boolean())
    .map((all) => command(`email ${all.join(' ')}`, ({ addresses }, shop) => saysByEmail(addresses, shop, ...all))),
  fc
    .tuple(address, address, fc.option(value))
    .map((all) => command(`address ${all.join(' ')}`, ({ addresses }, shop) => changesEmail(addresses, shop, ...all))),
  fc.nat(20).map((place) => command(`repeat ${place}`, (_, shop) => shop.repeat(place))),
  fc.tuple(person, fc.nat(2)).map((all) => command(`marketing ${all.join(' ')}`, sendsMarketing(...all))),
  fc.tuple(person, fc.nat(2)).map((all) => command(`marketing ${all.join(' ')}`, sendsMarketing(...all))),
]

export const consent: Model<State> = {
  name: 'consent',
  isTimed: false,
  open: async (stage) => {
    const persons = ['Ada', 'Ben'].map((name, place) => ({
      name,
      phone: `39333222000${place}`,
      userId: newUserId(),
      alias: `39333999000${place}`,
    }))
    const model = {
      ledger: new Ledger(),
      addresses: new Map<string, boolean>(),
      persons,
      start: secondsNow() - 7200,
      taken: new Set<number>(),
      lastSecond: 0,
      numbers: 0,
      waIds: new Map<string, string>(),
    }
    return { model, real: await openShop(stage, [{}]) }
  },
  commands,
  end: async (state, shop) => {
    for (const who of state.persons.keys()) for (const place of [0, 1]) await sendsMarketing(who, place)(state, shop)
  },
}

/** Events carry whole seconds; no two statements are of the same second. */
async function nextMoment(state: State): Promise<number> {
  while (secondsNow() <= state.lastSecond)
    await new Promise((resume) => setTimeout(resume, 1_000 - (Date.now() % 1_000)))
  state.lastSecond = secondsNow()
  return state.lastSecond
}

function pastMoment({ start, taken }: State, age: number): number {
  let moment = start - age * 20
  while (taken.has(moment)) moment -= 1
  taken.add(moment)
  return moment
}

function saysAtProvider(who: number, isIn: boolean, how: Shown, age: number | null): Run {
  return async (state, shop) => {
    const { name, phone, userId } = state.persons[who]!
    const saidAt = age === null ? await nextMoment(state) : pastMoment(state, age)
    const named = { phone: how === 'user id' ? null : phone, userId: how === 'phone' ? null : userId }
    const event = shop.numbers[0]!.events.preference(named, isIn ? 'resume' : 'stop', { timestamp: saidAt })
    const when = age === null ? 'now' : `${secondsNow() - saidAt} s ago`
    await shop.report(
      event,
      `${name} said ${isIn ? 'resume' : 'stop'} at the provider ${when}, shown as ${[named.phone, named.userId].filter(Boolean).join(' and ')}`,
    )
    const identities = [named.phone, named.userId].filter((one) => one !== null)
    state.ledger.link(...identities)
    state.ledger.say(identities, { value: isIn, saidAt })
  }
}

/** On a contact of the person; the first statement creates one. */
function saysByApi(who: number, isIn: boolean, by: Way, place: number): Run {
  return async (state, shop) => {
    const { name, phone } = state.persons[who]!
    const marketingConsent = { whatsapp: isIn }
    const found = await contactsOf(state.persons[who]!, shop)
    const own = by === 'PUT' ? found[place % Math.max(1, found.length)] : undefined
    shop.say(
      `The shop writes whatsapp consent ${isIn} for ${name}, ${own?.identity ?? phone}, by ${own ? `PUT of contact ${own.id}` : by}`,
    )
    // The database dates it, in a second that no event names.
    const saidAt = await nextMoment(state)
    if (own !== undefined) requireOk(await shop.api('PUT', `/contacts/${own.id}`, { marketingConsent }))
    else if (by === 'list') await shop.importList(['phone,marketing_consent.whatsapp', `${phone},${isIn}`])
    else
      requireOk(
        await shop.api(
          'POST',
          '/contacts',
          by === 'array' ? [{ phone, marketingConsent }] : { phone, marketingConsent },
        ),
      )
    state.ledger.say([own?.identity ?? phone], { value: isIn, saidAt: saidAt + 0.5 })
    // On a busy machine the write ends in a later second.
    state.lastSecond = secondsNow()
  }
}

/** Those with the person's number, and that of a conversation with the person who hides it. */
async function contactsOf({ phone, userId }: Person, shop: Shop): Promise<{ id: number; identity: string }[]> {
  const named = (await shop.contacts()).filter((one) => one.phone === `+${phone}`)
  const hidden = (await shop.conversations()).filter(
    ({ contact }) => contact.phone === null && contact.userId === userId,
  )
  const living = await shop.contacts()
  return [
    ...named.map(({ id }) => ({ id, identity: phone })),
    ...hidden
      .map(({ contact: { id } }) => ({ id, identity: userId }))
      .filter(({ id }) => living.some((one) => one.id === id)),
  ]
}

function requireOk({ status, text }: Answer): void {
  if (status !== 200) throw new Wrong(`The write is refused with ${status}: ${text}`)
}

function writes(who: number, how: Shown): Run {
  return async ({ persons, ledger }, shop) => {
    const { name, phone, userId } = persons[who]!
    const named = { phone: how === 'user id' ? null : phone, userId: how === 'phone' ? null : userId }
    await shop.report(
      shop.numbers[0]!.events.message(named, 'Hello'),
      `${name} writes, shown as ${[named.phone, named.userId].filter(Boolean).join(' and ')}`,
    )
    ledger.link(named.phone, named.userId)
  }
}

/** To a new number, which an imported contact may have by then. */
function changesNumber(who: number, isImported: boolean): Run {
  return async (state, shop) => {
    const mover = state.persons[who]!
    const { name, phone: from, userId: former } = mover
    state.numbers += 1
    mover.phone = `3933344${who}${String(state.numbers).padStart(3, '0')}`
    mover.userId = newUserId()
    if (isImported) {
      shop.say(`The shop imports a contact with the number ${mover.phone}`)
      await shop.importList(['email,phone', `imported${state.numbers}@example.org,${mover.phone}`])
    }
    const event = shop.numbers[0]!.events.numberChanged(
      { phone: from, userId: former },
      { phone: mover.phone, userId: mover.userId },
    )
    await shop.report(event, `${name} changes the number from ${from} (${former}) to ${mover.phone} (${mover.userId})`)
    // The former number is left to others, and so is its other spelling.
    mover.alias = `3933399${who}${String(state.numbers).padStart(4, '0')}`
    state.ledger.link(from, former, mover.phone, mover.userId)
  }
}

function changesUserId(who: number): Run {
  return async ({ persons, ledger }, shop) => {
    const changer = persons[who]!
    const former = changer.userId
    changer.userId = newUserId()
    await shop.report(
      shop.numbers[0]!.events.userIdChanged({ phone: changer.phone, userId: former }, changer.userId),
      `${changer.name} (${changer.phone}) changes the user id from ${former} to ${changer.userId}`,
    )
    ledger.link(former, changer.userId, changer.phone)
  }
}

/** The provider's answer says that the requested number is the person's. */
function sendsToAlias(who: number): Run {
  return async ({ persons, ledger, waIds }, shop) => {
    const { name, phone, alias } = persons[who]!
    await shop.identify(alias, { waId: phone })
    waIds.set(alias, phone)
    shop.say(`The shop sends an order update to ${alias}; the provider names ${name}'s ${phone} in the answer`)
    const { status, text } = await shop.send(alias, UTILITY)
    if (status !== 200) throw new Wrong(`The send is refused with ${status}: ${text}`)
    ledger.link(alias, phone)
  }
}

/** A contact with an email of its own that shares the number. */
function createsContact(who: number, by: Way): Run {
  return async (state, shop) => {
    const { name, phone } = state.persons[who]!
    state.numbers += 1
    const email = `contact${state.numbers}@example.org`
    shop.say(`The shop creates the contact ${email} and gives it ${name}'s number ${phone} (${by})`)
    if (by === 'list') return shop.importList(['email,phone', `${email},${phone}`])
    const { body } = await shop.api<{ id: number }[]>('POST', '/contacts', { email })
    await shop.api('PUT', `/contacts/${body.data[0]!.id}`, { phone })
  }
}

/** Two rows: a statement on a contact with one number, then the contact gets another number. */
function movesContact(isIn: boolean, next: boolean | null, by: Way): Run {
  return async (state, shop) => {
    state.numbers += 1
    const [email, first, second] = [
      `moved${state.numbers}@example.org`,
      `39333551${state.numbers}00`,
      `39333552${state.numbers}00`,
    ]
    const rows = [
      { email, phone: first, marketingConsent: { whatsapp: isIn } },
      { email, phone: second, ...(next !== null && { marketingConsent: { whatsapp: next } }) },
    ]
    shop.say(
      `The shop writes ${email} with ${first} and consent ${isIn}, then with ${second}${next === null ? '' : ` and consent ${next}`}, by ${by === 'array' ? 'an array' : by === 'list' ? 'an imported list' : 'two calls'}`,
    )
    if (by === 'array') await shop.api('POST', '/contacts', rows)
    else if (by === 'list')
      await shop.importList([
        'email,phone,marketing_consent.whatsapp',
        `${email},${first},${isIn}`,
        `${email},${second},${next ?? ''}`,
      ])
    else for (const row of rows) await shop.api('POST', '/contacts', row)
    await requireMarketing(shop, first, isIn, 'the first number')
    if (next !== null) await requireMarketing(shop, second, next, 'the second number')
  }
}

function removes(place: number, isErased: boolean): Run {
  return async ({ ledger }, shop) => {
    const contacts = await shop.contacts()
    const contact = contacts[place % Math.max(1, contacts.length)]
    const phone = contact?.phone?.slice(1)
    if (contact === undefined || phone === undefined) return
    // The data that other contacts share with an erased one stays.
    const linked = ledger.linkedTo(phone)
    if (isErased && contacts.some((one) => one !== contact && linked.has(one.phone?.slice(1) ?? ''))) return
    shop.say(`The shop ${isErased ? 'erases' : 'deletes'} contact ${contact.id} with ${phone}`)
    await shop.api('DELETE', `/contacts/${contact.id}${isErased ? '?erase=true' : ''}`)
    if (!isErased) return
    ledger.erase(phone)
    shop.posted.length = 0
  }
}
