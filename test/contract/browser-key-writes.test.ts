import { createHmac } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { uniquePhone } from '../service.ts'
import { startShops } from './browser-key-world.ts'

const { service, operator, db, createShop, uniqueEmail, createVictim } = await startShops()

describe('a key that holds ContactsUpsert alone', () => {
  test('changes neither email nor phone of a contact, with the answer that it always gives', async () => {
    const shop = await createShop()
    const victim = await createVictim(shop)
    const attack = { email: victim.email, phone: uniquePhone() }
    const answer = await shop.write(attack)
    const ofNobody = await shop.write({ ...attack, email: uniqueEmail() })
    expect([answer.status, answer.body.data]).toEqual([200, [{ email: victim.email, phone: `+${attack.phone}` }]])
    expect(Object.keys(answer.body.data[0])).toEqual(Object.keys(ofNobody.body.data[0]))
    expect((await shop.find(victim.email)).phone).toBe(`+${victim.phone}`)

    await shop.write({ phone: victim.phone, email: 'attacker@example.com', marketingConsent: { email: true } })
    expect(await shop.find(victim.email)).toMatchObject({ email: victim.email, phone: `+${victim.phone}` })
    expect(await shop.find('attacker@example.com')).toBeUndefined()
    // The consent was for the address that was ignored.
    expect((await shop.find(victim.email)).marketing_consent.email).toBeNull()
  })

  test('adds the missing phone or email, and updates the rest', async () => {
    const shop = await createShop()
    const victim = await createVictim(shop, { phone: undefined })
    const phone = uniquePhone()
    await shop.write({ email: victim.email, phone, firstName: 'Ida', customFields: { SIZE: 42 } })
    expect(await shop.find(victim.email)).toMatchObject({
      phone: `+${phone}`,
      first_name: 'Ida',
      custom_fields: { SIZE: 42 },
    })
    await shop.write({ email: victim.email, phone: uniquePhone() })
    expect((await shop.find(victim.email)).phone).toBe(`+${phone}`)
  })

  test('never ends an opt-out of a contact, and records an opt-out', async () => {
    const shop = await createShop()
    const optedOut = { marketingConsent: { email: false, whatsapp: false } }
    const victim = await createVictim(shop, optedOut)
    const optIn = { marketingConsent: { email: true, whatsapp: true } }
    const answer = await shop.write({ email: victim.email, ...optIn })
    expect(answer.body.data).toEqual([{ email: victim.email, marketing_consent: optIn.marketingConsent }])
    expect((await shop.find(victim.email)).marketing_consent).toEqual(optedOut.marketingConsent)
    const other = await createVictim(shop)
    await shop.write({ email: other.email, ...optIn })
    expect((await shop.find(other.email)).marketing_consent).toEqual(optIn.marketingConsent)
    await shop.write({ email: other.email, ...optedOut })
    expect((await shop.find(other.email)).marketing_consent).toEqual(optedOut.marketingConsent)
  })

  test('does not end the opt-out of a deleted contact, of an erased one, or of another contact with the number', async () => {
    const shop = await createShop()
    const optIn = { marketingConsent: { email: true, whatsapp: true } }
    for (const query of ['', '?erase=true']) {
      const gone = await createVictim(shop, { marketingConsent: { email: false, whatsapp: false } })
      const { id } = await shop.find(gone.email)
      expect((await shop.asServer('DELETE', `/contacts/${id}${query}`)).status).toBe(200)
      await shop.write({ email: gone.email, phone: gone.phone, ...optIn })
      expect((await shop.find(gone.email)).marketing_consent).toEqual({ email: false, whatsapp: false })
    }
    const sharing = await createVictim(shop, { marketingConsent: { whatsapp: false } })
    const email = uniqueEmail()
    await shop.asServer('POST', '/contacts', { email })
    await shop.asServer('PUT', `/contacts/${(await shop.find(email)).id}`, { phone: sharing.phone })
    await shop.write({ email, ...optIn })
    expect((await shop.find(email)).marketing_consent).toEqual({ email: true, whatsapp: false })
  })

  test('writes arrays of at most 10 contacts, each as if it came alone', async () => {
    const shop = await createShop()
    const [victim, email] = [await createVictim(shop), uniqueEmail()]
    const [first, second] = [uniquePhone(), uniquePhone()]
    const answer = await shop.write([
      { email: victim.email, phone: first },
      { email, phone: first },
      { email, phone: second, firstName: 'Eve' },
    ])
    expect(answer.status).toBe(200)
    expect((await shop.find(victim.email)).phone).toBe(`+${victim.phone}`)
    expect(await shop.find(email)).toMatchObject({ phone: `+${first}`, first_name: 'Eve' })
    const contacts = Array.from({ length: 11 }, () => ({ email: uniqueEmail() }))
    const refused = await shop.write(contacts)
    expect([refused.status, refused.body.error.message]).toEqual([422, 'The array must hold 1 to 10 contacts'])
    expect((await shop.write(contacts.slice(1))).status).toBe(200)
    expect((await shop.asServer('POST', '/contacts', contacts)).status).toBe(200)
  })

  test('is held to the same rules at the legacy address', async () => {
    const shop = await createShop()
    const victim = await createVictim(shop, { marketingConsent: { email: false } })
    const attack = { email: victim.email, phone: uniquePhone(), marketingConsent: { email: true } }
    expect((await shop.asPage('POST', '/api/contacts', attack)).body).toEqual([{}])
    expect(await shop.find(victim.email)).toMatchObject({
      phone: `+${victim.phone}`,
      marketing_consent: { email: false },
    })
  })
})

describe('a proof of identity', () => {
  const proofOf = (secret: string, identity: string) => createHmac('sha256', secret).update(identity).digest('hex')

  test('lifts the restriction to the contact that has the identity', async () => {
    const shop = await createShop({ identitySecret: true, writableFields: ['firstName', 'marketingConsent'] })
    const secret = shop.page.identitySecret
    const optedOut = { marketingConsent: { email: false, whatsapp: false } }
    const optIn = { marketingConsent: { email: true, whatsapp: true } }
    const owner = await createVictim(shop, optedOut)
    const phone = uniquePhone()
    const identityProof = proofOf(secret, owner.email)
    const answer = await shop.write({
      ...optIn,
      email: owner.email.toUpperCase(),
      phone,
      tags: ['gold'],
      identityProof,
    })
    expect([answer.status, answer.text.includes(identityProof)]).toEqual([200, false])
    expect(await shop.find(owner.email)).toMatchObject({
      phone: `+${phone}`,
      tags: [],
      marketing_consent: optIn.marketingConsent,
    })
    const email = uniqueEmail()
    await shop.write({ phone: `+${phone}`, email, identityProof: proofOf(secret, phone) })
    expect((await shop.find(email)).phone).toBe(`+${phone}`)
  })

  test('of one’s own identity opens no contact of another person', async () => {
    const shop = await createShop({ identitySecret: true })
    const victim = await createVictim(shop, { marketingConsent: { email: false, whatsapp: false } })
    const phone = uniquePhone()
    const attack = { email: victim.email, phone, marketingConsent: { email: true, whatsapp: true } }
    expect((await shop.write({ ...attack, identityProof: proofOf(shop.page.identitySecret, phone) })).status).toBe(200)
    expect(await shop.find(victim.email)).toMatchObject({
      phone: `+${victim.phone}`,
      marketing_consent: { email: false, whatsapp: false },
    })
  })

  test('that is wrong is refused alike for contacts that exist and for others, in arrays and forms too', async () => {
    const shop = await createShop({ identitySecret: true })
    const victim = await createVictim(shop)
    const identityProof = proofOf('another secret', victim.email)
    for (const [body, path] of [
      [{ email: victim.email, identityProof }, 'identityProof'],
      [{ email: uniqueEmail(), identityProof }, 'identityProof'],
      [[{ email: uniqueEmail() }, { email: victim.email, identityProof }], '1.identityProof'],
      [{ email: victim.email, identityProof: 'short' }, 'identityProof'],
    ] as const) {
      const { status, body: refused } = await shop.write(body)
      expect([status, refused.error.details.fields[0].path]).toEqual([422, path])
    }
    const form = new URLSearchParams({ email: victim.email, identityProof }).toString()
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    expect((await shop.asPage('POST', '/contacts', form, headers)).status).toBe(422)
    const without = await createShop()
    expect((await without.write({ email: victim.email, identityProof })).body.error.message).toContain(
      'needs a key with an identity secret',
    )
  })

  test('needs a secret that is shown once and stored encrypted', async () => {
    const shop = await createShop({ identitySecret: true })
    const [key] = await db`
      select api_keys::text as everything, identity_secret from api_keys
      where company_id = ${shop.companyId} and client_id = ${shop.page.clientId}`
    expect(key!.everything).not.toContain(shop.page.identitySecret)
    expect(service.deps.cipher.decrypt(key!.identitySecret)).toBe(shop.page.identitySecret)
    const listed = await operator('GET', `/companies/${shop.companyId}/api-keys`)
    expect(listed.text).not.toContain(shop.page.identitySecret)
    expect(listed.body.map(({ hasIdentitySecret }: { hasIdentitySecret: boolean }) => hasIdentitySecret)).toEqual([
      false,
      true,
    ])
  })
})
