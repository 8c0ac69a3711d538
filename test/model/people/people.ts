import fc from 'fast-check'
import type { Model } from '../run.ts'
import { openShop, type Shop, same } from '../shop.ts'
import { writesAtOnce } from './people-at-once.ts'
import { compare, type Run, type State } from './people-check.ts'
import { putsName, putsPhone, removes, writesContacts } from './people-contacts.ts'
import {
  changesNumber,
  changesUserId,
  echoes,
  reportsStatus,
  takesNumber,
  writes,
  writesFromDialled,
} from './people-events.ts'
import { People } from './people-model.ts'
import { dials, replies, sends, sendsToUserId } from './people-sends.ts'
import { createPersons, NUMBERS } from './truth.ts'

/** A command that may find nothing to do. After it, the service must have what the model has. */
function command(title: string, run: Run): fc.AsyncCommand<State, Shop> {
  return {
    check: () => true,
    run: async (state, shop) => {
      if (await run(state, shop)) await compare(state, shop)
    },
    toString: () => title,
  }
}

const person = fc.nat(2)
const sender = fc.nat(1)
const number = fc.nat(NUMBERS.length - 1)
const nth = fc.nat(9)
const shows = fc.constantFrom('both' as const, 'both' as const, 'phone' as const, 'user id' as const)

const commands: Model<State>['commands'] = [
  fc.tuple(person, sender, shows).map(([who, at, how]) => command(`writes ${who} ${at} ${how}`, writes(who, at, how))),
  fc.tuple(person, sender, shows).map(([who, at, how]) => command(`writes ${who} ${at} ${how}`, writes(who, at, how))),
  fc.tuple(nth).map(([place]) => command(`reply ${place}`, replies(place))),
  fc.tuple(nth).map(([place]) => command(`reply ${place}`, replies(place))),
  fc.tuple(person, sender).map(([who, at]) => command(`dial ${who} ${at}`, dials(who, at))),
  fc.tuple(person, sender).map(([who, at]) => command(`writes dialled ${who} ${at}`, writesFromDialled(who, at))),
  fc
    .tuple(person, sender, fc.boolean())
    .map(([who, at, ids]) => command(`send ${who} ${at} ${ids}`, sends(who, at, ids))),
  fc
    .tuple(person, sender, fc.boolean())
    .map(([who, at, names]) => command(`echo ${who} ${at} ${names}`, echoes(who, at, names))),
  fc
    .tuple(person, number, sender, fc.boolean())
    .map(([who, to, at, ids]) => command(`changes number ${who} ${to} ${at} ${ids}`, changesNumber(who, to, at, ids))),
  fc.tuple(person, sender).map(([who, at]) => command(`changes user id ${who} ${at}`, changesUserId(who, at))),
  fc.tuple(person, number).map(([who, to]) => command(`takes number ${who} ${to}`, takesNumber(who, to))),
  fc.tuple(person, sender).map(([who, at]) => command(`send to user id ${who} ${at}`, sendsToUserId(who, at))),
  person.map((who) => command(`at once ${who}`, writesAtOnce(who))),
  nth.map((place) => command(`status ${place}`, reportsStatus(place))),
  fc.tuple(nth, fc.boolean()).map(([which, email]) => command(`put name ${which} ${email}`, putsName(which, email))),
  fc.tuple(nth, number).map(([which, to]) => command(`put phone ${which} ${to}`, putsPhone(which, to))),
  fc
    .tuple(number, fc.constantFrom('array', 'list'))
    .map(([to, way]) => command(`${way} ${to}`, writesContacts(to, way))),
  fc.tuple(nth).map(([which]) => command(`delete ${which}`, removes(which, false))),
  fc.tuple(nth).map(([which]) => command(`erase ${which}`, removes(which, true))),
  fc.tuple(nth).map(([place]) => command(`repeat ${place}`, (_, shop) => shop.repeat(place))),
]

export const people: Model<State> = {
  name: 'people',
  isTimed: false,
  open: async (stage) => ({
    model: { people: new People(), persons: createPersons(), sent: [] },
    real: await openShop(stage, [{}, {}]),
  }),
  commands,
  end: async ({ people: { conversations } }, shop) => {
    for (const { chatId, texts } of conversations)
      same(`The messages of conversation ${chatId}`, await shop.texts(chatId), texts)
  },
}
