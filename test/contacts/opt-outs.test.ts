import { describe, expect, test } from 'vitest'
import { startMailing, uniqueAddress } from '../emails/email-world.ts'
import { bodyOf, changeOf, providerOf, secondsNow, textFrom } from '../provider-webhook.ts'
import { eventually, uniquePhone } from '../service.ts'

const mailing = await startMailing()
const { createCompany, createMailing, untilCompleted, received, get, call, url } = mailing
const provider = providerOf(mailing)

type Company = Awaited<ReturnType<typeof createCompany>>

const removeAll = async ({ api }: Company) => {
  const { body } = await api('GET', '/contacts?limit=100')
  for (const { id } of body.data) expect((await api('DELETE', `/contacts/${id}`)).status).toBe(200)
}
/** The consents of the company's contacts as the API shows them. */
const consents = async ({ api }: Company) =>
  (await api('GET', '/contacts?limit=100&sort=created_at')).body.data.map(
    (contact: { marketing_consent: object }) => contact.marketing_consent,
  )
const NOTHING = { email: null, whatsapp: null }

/** A company whose contact with this identity opted out of a channel and was deleted. */
async function optedOut(identity: { email?: string; phone?: string }, channel: 'email' | 'whatsapp') {
  const company = await createCompany()
  const created = await company.api('POST', '/contacts', { ...identity, marketingConsent: { [channel]: false } })
  expect(created.status).toBe(200)
  await removeAll(company)
  return company
}

async function importList(company: Company, list: string) {
  const authorization = `Bearer ${company.key.token}`
  const headers = { authorization, 'content-type': 'text/csv' }
  const taken = await call(url, 'POST', '/public/v1/contacts/import', list, headers)
  expect(taken.status).toBe(202)
  await eventually(async () => {
    const progress = await company.api('GET', `/contacts/imports/${taken.body.data.id}`)
    return progress.body.data.status === 'completed'
  })
}

describe('an opt-out from email outlives the contact:', () => {
  const ways: [string, (company: Company, email: string) => Promise<unknown>][] = [
    ['one contact', ({ api }, email) => api('POST', '/contacts', { email: email.toUpperCase() })],
    ['an array', ({ api }, email) => api('POST', '/contacts', [{ email, firstName: 'Ada' }])],
    [
      'an array that names it twice',
      ({ api }, email) => api('POST', '/contacts', [{ email }, { email, phone: '393331234567' }]),
    ],
    [
      'a form',
      ({ key }, email) =>
        call(url, 'POST', '/public/v1/contacts', `email=${encodeURIComponent(email)}`, {
          authorization: `Bearer ${key.token}`,
          'content-type': 'application/x-www-form-urlencoded',
        }),
    ],
    ['an imported list', (company, email) => importList(company, `email,first_name\n${email},Ada\n`)],
    [
      'a contact that takes the address',
      async ({ api }, email) => {
        const created = await api('POST', '/contacts', { phone: uniquePhone() })
        await api('PUT', `/contacts/${created.body.data[0].id}`, { email })
      },
    ],
  ]
  test.each(ways)('a new contact of %s begins with it, until it opts in', async (_name, create) => {
    const email = uniqueAddress()
    const company = await optedOut({ email }, 'email')
    await create(company, email)
    expect(await consents(company)).toEqual([{ ...NOTHING, email: false }])

    await company.api('POST', '/contacts', { email, marketingConsent: { email: true } })
    await removeAll(company)
    await create(company, email)
    expect(await consents(company)).toEqual([{ ...NOTHING, email: true }])
  })

  test('a consent to an earlier address does not end it, an opt-in together with the address does', async () => {
    const email = uniqueAddress()
    const company = await optedOut({ email }, 'email')
    const marketingConsent = { email: true }
    const created = await company.api('POST', '/contacts', { email: uniqueAddress(), marketingConsent })
    const { id } = created.body.data[0]
    const carried = await company.api('PUT', `/contacts/${id}`, { email })
    expect(carried.body.data.marketing_consent).toEqual({ ...NOTHING, email: false })

    await company.api('PUT', `/contacts/${id}`, { email: uniqueAddress(), marketingConsent })
    const reply = await company.api('PUT', `/contacts/${id}`, { email, marketingConsent })
    expect(reply.body.data.marketing_consent).toEqual({ ...NOTHING, email: true })
  })

  test('the answer to the write shows it, and another company knows nothing of it', async () => {
    const email = uniqueAddress()
    const company = await optedOut({ email }, 'email')
    const again = await company.api('POST', '/contacts', { email })
    expect(again.body.data[0].marketing_consent).toEqual({ ...NOTHING, email: false })
    const other = await createCompany()
    const elsewhere = await other.api('POST', '/contacts', { email })
    expect(elsewhere.body.data[0].marketing_consent).toEqual(NOTHING)
  })

  test('each answer to an array that names the contact twice shows it', async () => {
    const email = uniqueAddress()
    const company = await optedOut({ email }, 'email')
    const again = await company.api('POST', '/contacts', [{ email }, { email, firstName: 'Ada' }])
    const consents = again.body.data.map((one: { marketing_consent: object }) => one.marketing_consent)
    expect(consents).toEqual([
      { ...NOTHING, email: false },
      { ...NOTHING, email: false },
    ])
  })

  test('a new contact that opts in at once has opted in', async () => {
    const email = uniqueAddress()
    const company = await optedOut({ email }, 'email')
    const again = await company.api('POST', '/contacts', { email, marketingConsent: { email: true } })
    expect(again.body.data[0].marketing_consent).toEqual({ ...NOTHING, email: true })
  })

  test('the unsubscribe link keeps marketing away from the address when its contact is deleted', async () => {
    const { api, send, ...company } = await createMailing({ category: 'MARKETING' })
    const email = uniqueAddress()
    await untilCompleted(api, (await send(email)).body.data.id)
    const [mail] = await received(email)
    const [, path] = /<http:\/\/[^/]+(\/public\/v1\/u\/[^>]+)>/.exec(mail.headers['list-unsubscribe'])!
    expect((await get(path!, { method: 'POST' })).status).toBe(200)
    await removeAll({ api, ...company })
    const refused = await send(email)
    expect([refused.status, refused.body.error.code]).toEqual([403, 'forbidden'])
  })
})

describe('an opt-out from WhatsApp outlives the contact:', () => {
  const sendTemplate = ({ api }: Company, recipient: string, template: object) =>
    api('POST', '/templates/whatsapp/send', { recipient, type: 'template', template })
  const sendOffer = (company: Company, recipient: string) => {
    const parameters = ['Ada', 'SAVE'].map((text) => ({ type: 'text', text }))
    return sendTemplate(company, recipient, { name: 'welcome_offer', components: [{ type: 'BODY', parameters }] })
  }
  const ways: [string, (company: Company, phone: string) => Promise<unknown>][] = [
    ['the API', ({ api }, phone) => api('POST', '/contacts', { phone: `+${phone}` })],
    ['an imported list', (company, phone) => importList(company, `phone\n${phone}\n`)],
    ['a send', (company, phone) => sendTemplate(company, phone, { name: 'shipping_notice' })],
    ['an inbound message', ({ phoneNumberId }, phone) => provider.messages(phoneNumberId, textFrom(phone, 'Hi'))],
  ]
  test.each(ways)('a new contact of %s begins with it', async (_name, create) => {
    const phone = uniquePhone()
    const company = await optedOut({ phone }, 'whatsapp')
    await create(company, phone)
    expect(await consents(company)).toEqual([{ ...NOTHING, whatsapp: false }])
  })

  test('a consent to an earlier number does not end it, an opt-in together with the number does', async () => {
    const [phone, email] = [uniquePhone(), uniqueAddress()]
    const company = await optedOut({ phone }, 'whatsapp')
    const marketingConsent = { whatsapp: true }
    await company.api('POST', '/contacts', { email, phone: uniquePhone(), marketingConsent })
    const carried = await company.api('POST', '/contacts', { email, phone })
    expect(carried.body.data[0].marketing_consent).toEqual({ ...NOTHING, whatsapp: false })

    await company.api('POST', '/contacts', { email, phone: uniquePhone(), marketingConsent })
    const reply = await company.api('POST', '/contacts', [{ email, phone, marketingConsent }])
    expect(reply.body.data[0].marketing_consent).toEqual({ ...NOTHING, whatsapp: true })
  })

  test('a marketing template to the number of a deleted contact is refused', async () => {
    const phone = uniquePhone()
    const company = await optedOut({ phone }, 'whatsapp')
    const refused = await sendOffer(company, phone)
    expect([refused.status, refused.body.error.code]).toEqual([403, 'forbidden'])
    expect(await consents(company)).toEqual([])
  })

  test('it holds for every way in which the number is written, and for the user id that the contact is known by', async () => {
    const digits = String(Math.floor(Math.random() * 1e10)).padStart(10, '1')
    const company = await optedOut({ phone: `521${digits}` }, 'whatsapp')
    await company.api('POST', '/contacts', { phone: `52${digits}` })
    expect(await consents(company)).toEqual([{ ...NOTHING, whatsapp: false }])

    const userId = `US.${digits}`
    const phone = uniquePhone()
    const other = await createCompany()
    await provider.report(
      bodyOf(
        changeOf(other.phoneNumberId, {
          contacts: [{ wa_id: phone, user_id: userId, profile: { name: 'Ada' } }],
          messages: [textFrom(phone, 'Hi', { from_user_id: userId })],
        }),
      ),
    )
    await other.api('POST', '/contacts', { phone, marketingConsent: { whatsapp: false } })
    await removeAll(other)
    for (const recipient of [phone, userId]) expect((await sendOffer(other, recipient)).status).toBe(403)
  })

  test('a preference that a customer sent before being a contact counts', async () => {
    const company = await createCompany()
    const phone = uniquePhone()
    const say = (value: string) => {
      const preference = { wa_id: phone, category: 'marketing_messages', value, timestamp: secondsNow() }
      return provider.report(
        bodyOf(changeOf(company.phoneNumberId, { user_preferences: [preference] }, 'user_preferences')),
      )
    }
    await say('stop')
    await company.api('POST', '/contacts', { phone })
    expect(await consents(company)).toEqual([{ ...NOTHING, whatsapp: false }])
    await say('resume')
    expect(await consents(company)).toEqual([{ ...NOTHING, whatsapp: true }])
    await removeAll(company)
    await company.api('POST', '/contacts', { phone })
    expect(await consents(company)).toEqual([{ ...NOTHING, whatsapp: true }])
  })

  test('a repeated resume changes nothing, and neither does one that was said before the last answer', async () => {
    const company = await createCompany()
    const phone = uniquePhone()
    const say = (value: string, timestamp: number) => {
      const preference = { wa_id: phone, category: 'marketing_messages', value, timestamp }
      return provider.report(
        bodyOf(changeOf(company.phoneNumberId, { user_preferences: [preference] }, 'user_preferences')),
      )
    }
    const before = Number(secondsNow()) - 60
    await say('resume', before)
    await company.api('POST', '/contacts', { phone, marketingConsent: { whatsapp: false } })
    await say('resume', before)
    await say('resume', before - 60)
    expect(await consents(company)).toEqual([{ ...NOTHING, whatsapp: false }])
    expect((await sendOffer(company, phone)).status).toBe(403)
  })

  test('an opt-out on one contact of a shared number holds for the number', async () => {
    const company = await createCompany()
    const phone = uniquePhone()
    await company.api('POST', '/contacts', { phone, email: uniqueAddress() })
    const second = await company.api('POST', '/contacts', { email: uniqueAddress() })
    const { id } = second.body.data[0]
    await company.api('PUT', `/contacts/${id}`, { phone })
    await company.api('PUT', `/contacts/${id}`, { marketingConsent: { whatsapp: false } })
    const optedOut = { ...NOTHING, whatsapp: false }
    expect(await consents(company)).toEqual([optedOut, optedOut])
    expect((await sendOffer(company, phone)).status).toBe(403)
  })
})
