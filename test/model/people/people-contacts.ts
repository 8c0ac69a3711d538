import { same, Wrong } from '../shop.ts'
import { pick, type Run } from './people-check.ts'
import type { People } from './people-model.ts'
import { NUMBERS } from './truth.ts'

export function putsPhone(which: number, to: number): Run {
  return async ({ people }, shop) => {
    const contact = pick(
      people.contacts.filter((one) => !one.isDeleted),
      which,
    )
    if (contact === undefined) return false
    const phone = NUMBERS[to]!
    shop.say(`The shop gives contact ${contact.id} the number ${phone} by PUT`)
    const { status, text } = await shop.api('PUT', `/contacts/${contact.id}`, { phone })
    if (status === 409) return true
    if (status !== 200) throw new Wrong(`The PUT is refused with ${status}: ${text}`)
    people.contactOfNumber(phone)
    contact.phone = phone
    people.contactOfNumber(phone)
    return true
  }
}

/** A contact of a conversation may have neither email nor phone: its other fields can be written all the same. */
export function putsName(which: number, hasEmail: boolean): Run {
  return async ({ people: { contacts } }, shop) => {
    const contact = pick(
      contacts.filter((one) => !one.isDeleted),
      which,
    )
    if (contact === undefined) return false
    const name = `Name ${shop.story.length}`
    const email = `person${shop.story.length}@example.org`
    shop.say(`The shop names contact ${contact.id}${hasEmail ? ` and gives it the email ${email}` : ''} by PUT`)
    const fields = { firstName: name, tags: ['vip'], ...(hasEmail && { email }) }
    const { status, text, body } = await shop.api<{ first_name: string }>('PUT', `/contacts/${contact.id}`, fields)
    if (status !== 200) throw new Wrong(`The PUT is refused with ${status}: ${text}`)
    same('The name of the contact', body.data.first_name, name)
    return true
  }
}

/** Contacts of a list have an email of their own. */
export function writesContacts(to: number, way: string): Run {
  return async ({ people }, shop) => {
    const phone = NUMBERS[to]!
    const email = `contact${shop.story.length}@example.org`
    if (people.hasTwoContacts(phone)) return false
    shop.say(`The shop writes ${way === 'array' ? 'an array' : 'an imported list'} with the contact ${email}, ${phone}`)
    if (way === 'array') await shop.api('POST', '/contacts', [{ email, phone }])
    else await shop.importList(['email,phone', `${email},${phone}`])
    const stored = (await shop.contacts()).find((one) => one.email === email)
    if (stored === undefined) throw new Wrong(`There is no contact ${email}`)
    isStored(people, stored.id, { phone, email })
    return true
  }
}

/** A contact was written by its number: it is the one that the number stands for, else a new one. */
export function isStored(people: People, id: number, written: { phone: string; email?: string }): void {
  const existing = people.contactOfNumber(written.phone)
  if (existing !== undefined) {
    same(`The contact that a write with ${written.phone} is about`, id, existing.id)
    Object.assign(existing, written)
  } else {
    if (people.contacts.some((one) => one.id === id))
      throw new Wrong(`A write with ${written.phone} changed contact ${id}, which is another person's`)
    people.contacts.push({ id, email: null, ...written, customer: null, isDeleted: false })
  }
  people.contactOfNumber(written.phone)
}

export function removes(which: number, isErased: boolean): Run {
  return async ({ people }, shop) => {
    const living = people.contacts.filter((one) => !one.isDeleted)
    const contact = pick(living, which)
    if (contact === undefined) return false
    const { customer } = contact
    const others = living.filter((one) => one !== contact)
    // Two customers who turned out to be one have two contacts. The contract does not say which one stays attached.
    if (customer !== null && others.some((one) => one.customer === customer)) return false
    const sharesPhone = others.some((one) => one.phone !== null && one.phone === (contact.phone ?? customer?.phone))
    if (isErased && sharesPhone) return false
    shop.say(`The shop ${isErased ? 'erases' : 'deletes'} contact ${contact.id}`)
    const { status, text } = await shop.api('DELETE', `/contacts/${contact.id}${isErased ? '?erase=true' : ''}`)
    if (status !== 200) throw new Wrong(`The removal is refused with ${status}: ${text}`)
    contact.isDeleted = true
    if (!isErased && customer !== null) people.contactFor(customer)
    if (!isErased || customer === null) return true
    for (const one of people.conversations.filter((conversation) => conversation.customer === customer)) {
      one.customer = null
      one.unread = 0
      one.texts = one.texts.map(() => '[erased]')
    }
    people.forget(customer)
    return true
  }
}
