import { UTILITY } from '../../people/people-world.ts'
import { secondsNow } from '../../provider-webhook.ts'
import { Wrong } from '../shop.ts'
import { meet, type Run } from './people-check.ts'
import { isStored } from './people-contacts.ts'
import { canBeKnown } from './people-events.ts'
import { TEMPLATE_TEXT } from './people-sends.ts'

/** A customer writes to one number while the shop writes from another, and stores the contact: in any order it is one person. */
export function writesAtOnce(who: number): Run {
  return async (state, shop) => {
    const { people, persons } = state
    const { name, phone } = persons[who]!
    if (phone === null || people.hasTwoContacts(phone)) return false
    if (!canBeKnown(state, persons[who]!, { phone, userId: null })) return false
    const text = `text ${shop.story.length}`
    const seconds = secondsNow()
    shop.say(`At once, the shop stores a contact with ${phone} and sends a template to it from the second number`)
    await shop.identify(phone, {}, 1)
    const [sent, stored] = await Promise.all([
      shop.send(phone, UTILITY, 1),
      shop.api<{ id: number }[]>('POST', '/contacts', { phone }),
      shop.report(
        shop.numbers[0]!.events.message({ phone }, text, { timestamp: seconds }),
        `${name} writes to the first number, shown as ${phone}`,
      ),
    ])
    if (sent.status !== 200 || stored.status !== 200) throw new Wrong(`Refused: ${sent.text} ${stored.text}`)
    const customer = people.identify({ phone, userId: null }, name, seconds)
    people.writesUnder(customer, phone)
    isStored(people, stored.body.data[0]!.id, { phone })
    const written = await meet(state, shop, customer, 0, { text })
    written.texts.push(text)
    written.unread += 1
    const reached = await meet(state, shop, customer, 1, { chatId: sent.body.data.chatId })
    reached.texts.push(TEMPLATE_TEXT)
    reached.unread = 0
    return true
  }
}
