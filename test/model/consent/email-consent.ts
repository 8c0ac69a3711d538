import { type Shop, same, Wrong } from '../shop.ts'

/** The last statement about each address, on any contact. */
export type Addresses = Map<string, boolean>

const addressOf = (place: number): string => `mail${place}@example.org`

/** A write of the contact with the address, which creates it if there is none. */
export async function saysByEmail(consents: Addresses, shop: Shop, place: number, isIn: boolean, isArray: boolean) {
  const email = addressOf(place)
  const contact = { email, marketingConsent: { email: isIn } }
  shop.say(`The shop writes email consent ${isIn} for ${email}${isArray ? ' in an array' : ''}`)
  const { status, text } = await shop.api('POST', '/contacts', isArray ? [contact] : contact)
  if (status !== 200) throw new Wrong(`The write is refused with ${status}: ${text}`)
  consents.set(email, isIn)
  await compareAddresses(consents, shop)
}

/** The contact with one address gets another, with or without a statement about it. */
export async function changesEmail(consents: Addresses, shop: Shop, from: number, to: number, next: boolean | null) {
  const contacts = await shop.contacts()
  const contact = contacts.find(({ email }) => email === addressOf(from))
  if (contact === undefined || contacts.some(({ email }) => email === addressOf(to))) return
  const statement = next === null ? '' : ` with email consent ${next}`
  shop.say(`The shop gives contact ${contact.id}, ${addressOf(from)}, the email ${addressOf(to)} by PUT${statement}`)
  const { status, text } = await shop.api('PUT', `/contacts/${contact.id}`, {
    email: addressOf(to),
    ...(next !== null && { marketingConsent: { email: next } }),
  })
  if (status !== 200) throw new Wrong(`The PUT is refused with ${status}: ${text}`)
  if (next !== null) consents.set(addressOf(to), next)
  await compareAddresses(consents, shop)
}

/** An opt-in on another contact, or on one that is deleted, need not be shown; an opt-out must be. */
async function compareAddresses(consents: Addresses, shop: Shop): Promise<void> {
  for (const { id, email, marketing_consent: seen } of await shop.contacts()) {
    if (email === null || !email.startsWith('mail')) continue
    const last = consents.get(email) ?? null
    if (last === true && seen.email === null) continue
    same(`The email consent of contact ${id}, ${email}`, seen.email, last)
  }
}
