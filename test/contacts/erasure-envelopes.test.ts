import { randomInt } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { makeMessageMonth } from '../../src/conversations/message-expiry-store.ts'
import { IDS_A_MONTH, monthOf } from '../../src/conversations/message-store.ts'
import { expireMonths } from '../../src/personal-data/lifetimes/expire-messages.ts'
import { bodyOf, changeOf, newWamid, providerOf, textFrom } from '../provider-webhook.ts'
import { startReceiver } from '../receiver.ts'
import { startTestService, uniquePhone } from '../service.ts'
import { tracesOf } from './traces.ts'

const service = await startTestService({ mirrors: false })
const { createCompany, db } = service
const provider = providerOf(service)

/** Refuses everything: deliveries wait for their next attempt. */
const receiver = await startReceiver((_, response) => response.writeHead(503).end())

async function createShop() {
  const company = await createCompany()
  const registration = { name: 'Receiver', url: receiver.url, events: ['whatsapp.message.received'] }
  expect((await company.api('POST', '/webhooks/registrations', registration)).status).toBe(201)
  return company
}
type Shop = Awaited<ReturnType<typeof createShop>>

/** A customer whose texts, names and ids are found nowhere else. */
const createPerson = () => ({
  phone: uniquePhone(),
  userId: `IT.${randomInt(1e12)}`,
  name: `name${randomInt(1e12)}`,
  word: `word${randomInt(1e12)}`,
})
type Person = ReturnType<typeof createPerson>
const textsOf = ({ phone, userId, name, word }: Person) => [phone, userId, name, word]

/** Wamids of the provider hold the phone number in base64. */
const wamidOf = (phone: string) => `wamid.${Buffer.from(`${phone} ${newWamid()}`).toString('base64')}`

/** How the provider names the customer. */
const SENDERS = {
  phone: ({ phone }: Person) => ({ from: phone }),
  both: ({ phone, userId }: Person) => ({ from: phone, from_user_id: userId }),
  'user id': ({ userId }: Person) => ({ from_user_id: userId }),
}

const change = (type: 'edit' | 'revoke', target: string, word: string) =>
  type === 'edit'
    ? { edit: { original_message_id: target, message: { type: 'text', text: { body: word } } } }
    : { revoke: { original_message_id: target } }

/** What can be said; the target is the wamid of another message. */
const KINDS: Record<string, (person: Person, target: string) => object> = {
  text: ({ word }) => ({ type: 'text', text: { body: word } }),
  answer: ({ word }, id) => ({ type: 'text', text: { body: word }, context: { id } }),
  image: ({ word }) => ({ type: 'image', image: { id: '42', mime_type: 'image/png', caption: word } }),
  location: ({ word }) => ({ type: 'location', location: { latitude: 1, longitude: 2, name: word } }),
  contacts: ({ name, phone }) => ({
    type: 'contacts',
    contacts: [{ name: { formatted_name: name }, phones: [{ phone: `+${phone}`, wa_id: phone }] }],
  }),
  button: ({ word }) => ({ type: 'button', button: { text: word, payload: word } }),
  unsupported: ({ word }) => ({ type: 'unsupported', errors: [{ code: 131051, title: word }] }),
  ad: ({ word }) => ({ type: 'text', text: { body: 'Hello' }, referral: { source_type: 'ad', ctwa_clid: word } }),
  product: ({ word }, id) => ({
    type: 'text',
    text: { body: 'Hello' },
    context: { id, referred_product: { product_retailer_id: word } },
  }),
  call: ({ word }) => ({ event: 'connect', session: { sdp: word } }),
  'end of a call': ({ word }) => ({ event: 'terminate', cta_payload: word }),
  reaction: (_, id) => ({ type: 'reaction', reaction: { message_id: id, emoji: '👍' } }),
  'reaction taken back': (_, id) => ({ type: 'reaction', reaction: { message_id: id } }),
  edit: ({ word }, id) => ({ type: 'edit', ...change('edit', id, word) }),
  revoke: (_, id) => ({ type: 'revoke', ...change('revoke', id, '') }),
}

const TARGETS = ['unknown', 'own', 'of another person', 'expired', 'in a group'] as const
type Target = (typeof TARGETS)[number]
type Said = { kind: string; target: Target; sender: keyof typeof SENDERS; place: 'chat' | 'group' | 'echo' }

const said = fc.record<Said>({
  kind: fc.constantFrom(...Object.keys(KINDS)),
  target: fc.constantFrom(...TARGETS),
  sender: fc.constantFrom('phone', 'both', 'user id'),
  place: fc.constantFrom('chat', 'group', 'echo'),
})

const GROUP = 'group-1'

/** Posts a message of the person and returns its wamid. */
async function say(shop: Shop, person: Person, { kind, sender, place }: Omit<Said, 'target'>, target: string) {
  const id = wamidOf(person.phone)
  const named = SENDERS[sender](person)
  const message = { id, timestamp: textFrom('', '').timestamp, ...KINDS[kind]?.(person, target) }
  const contacts = [{ wa_id: person.phone, user_id: person.userId, profile: { name: person.name } }]
  const isCall = kind.endsWith('call')
  if (isCall) {
    const isOut = place === 'echo'
    const direction = isOut ? 'BUSINESS_INITIATED' : 'USER_INITIATED'
    const names = isOut && 'from' in named ? { to: person.phone } : isOut ? { to_user_id: person.userId } : named
    const calls = [{ ...message, ...names, direction }]
    await provider.report(bodyOf(changeOf(shop.phoneNumberId, { contacts, calls }, 'calls')))
  } else if (place === 'echo') {
    const to = 'from' in named ? { to: person.phone } : { to_user_id: person.userId }
    const echo = { ...message, ...to, from: '390000000' }
    await provider.report(
      bodyOf(changeOf(shop.phoneNumberId, { contacts, message_echoes: [echo] }, 'smb_message_echoes')),
    )
  } else {
    const written = { ...message, ...named, ...(place === 'group' && { group_id: GROUP }) }
    await provider.report(bodyOf(changeOf(shop.phoneNumberId, { contacts, messages: [written] })))
  }
  return id
}

async function targetOf(shop: Shop, person: Person, other: Person, target: Target): Promise<string> {
  const text = { kind: 'text', sender: 'both', place: 'chat' } as const
  if (target === 'own') return say(shop, person, text, '')
  if (target === 'of another person') return say(shop, other, text, '')
  if (target === 'in a group') return say(shop, other, { ...text, place: 'group' }, '')
  if (target === 'unknown') return wamidOf(person.phone)
  const wamid = await say(shop, person, text, '')
  await expireMessages(shop, wamid)
  return wamid
}

/** Drops the month of a message, as if it had been written three months ago. */
async function expireMessages({ companyId }: Shop, wamid: string): Promise<void> {
  const month = monthOf(new Date()) - 3
  await makeMessageMonth(db, month)
  await db`
    update messages set id = ${month * IDS_A_MONTH}::bigint + id % ${IDS_A_MONTH}::bigint
    where company_id = ${companyId} and wamid = ${wamid}
  `
  await expireMonths(db, { messageDays: 8, deliveryLogDays: 30 }, new AbortController().signal)
  expect(await db`select from messages where company_id = ${companyId} and wamid = ${wamid}`).toHaveLength(0)
}

async function contactOf({ api }: Shop, { phone }: Person): Promise<number> {
  const { body } = await api('POST', '/contacts', { phone })
  return body.data[0].id
}

test('an erasure leaves nothing that names the person, whatever was written to whom, and no delivery waits', {
  timeout: 900_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(said, { minLength: 1, maxLength: 4 }), async (history) => {
      const shop = await createShop()
      const [person, other] = [createPerson(), createPerson()]
      await contactOf(shop, other)
      const id = await contactOf(shop, person)
      // The provider has told which user id has the number.
      await say(shop, person, { kind: 'text', sender: 'both', place: 'chat' }, '')
      for (const one of history) await say(shop, person, one, await targetOf(shop, person, other, one.target))

      const archive = await shop.api('GET', `/contacts/${id}/archive`)
      const events = await db<{ eventId: string }[]>`
        select event_id from envelopes
        where company_id = ${shop.companyId} and (position(${person.phone} in body) > 0 or position(${person.userId} in body) > 0)
      `
      for (const { eventId } of events) expect(archive.text).toContain(eventId)

      expect((await shop.api('DELETE', `/contacts/${id}?erase=true`)).status).toBe(200)
      expect(await tracesOf(service, textsOf(person))).toEqual([])
      const left = await db`
        select from deliveries
        join envelopes using (company_id, event, event_id, day)
        where company_id = ${shop.companyId} and status = 'pending' and position(${other.phone} in body) = 0
      `
      expect(left).toHaveLength(0)
    }),
    {
      numRuns: 12,
      examples: Object.keys(KINDS).map((kind, place) => [
        [
          { kind, target: TARGETS[place % 5]!, sender: 'both', place: 'chat' },
          { kind, target: 'unknown', sender: 'phone', place: 'group' },
          { kind, target: 'unknown', sender: 'phone', place: 'echo' },
        ] as Said[],
      ]),
    },
  )
})
