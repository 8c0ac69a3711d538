import { describe, expect, test } from 'vitest'
import { uniqueAddress } from '../emails/email-world.ts'
import { erase, startErasures, textsOf } from './erasure-world.ts'

const { createCompany, createShop, createPerson } = await startErasures()

describe('GET /contacts/{id}/archive', () => {
  const lines = (text: string) =>
    text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { type: string; data: Record<string, unknown> })

  test('answers everything stored about a contact, and nothing of others', { timeout: 300_000 }, async () => {
    const shop = await createShop()
    const other = await createPerson(shop)
    const person = await createPerson(shop)
    const archive = await shop.api('GET', `/contacts/${person.id}/archive`)
    expect([archive.status, archive.headers.get('content-type')]).toEqual([200, 'application/x-ndjson; charset=utf-8'])
    const rows = lines(archive.text)
    expect(rows).toContainEqual({
      type: 'scheduled_message',
      data: expect.objectContaining({ recipient: person.phone, text: `Later ${person.word}` }),
    })
    const of = (type: string) => rows.filter((row) => row.type === type).map(({ data }) => data)

    expect(rows[0]).toMatchObject({
      type: 'contact',
      data: { id: person.id, email: person.email, phone: person.phone },
    })
    expect(of('consent')).toMatchObject([
      { channel: 'email', identity: `mailto:${person.email}`, value: false },
      { channel: 'whatsapp', identity: person.phone, value: true },
    ])
    expect(of('conversation')).toMatchObject([{ id: person.chatId }])
    expect(of('message').map(({ text }) => text)).toEqual(
      expect.arrayContaining([
        `Edited ${person.word}`,
        `In the group ${person.word}`,
        `Answer ${person.word}`,
        person.word,
      ]),
    )
    expect(of('message').some(({ media }) => media !== null)).toBe(true)
    expect(of('delivery').length).toBeGreaterThanOrEqual(5)
    expect(of('email')).toMatchObject([{ subject: person.word }])
    expect(of('import_refusal')).toHaveLength(1)
    expect(of('failed_event')).toHaveLength(1)
    expect(of('daily_limit')).toHaveLength(1)
    for (const text of textsOf(other)) expect(archive.text).not.toContain(text)
    expect(archive.text).not.toContain(person.storageKey)
  })

  test('another company’s contact and an erased one answer as a missing one', async () => {
    const mine = await createCompany({ isConnected: false })
    const theirs = await createCompany({ isConnected: false })
    const { body } = await theirs.api('POST', '/contacts', { email: uniqueAddress() })
    const { id } = body.data[0]
    const missing = await mine.api('GET', '/contacts/999999999/archive')
    expect([missing.status, missing.body]).toEqual([404, { message: 'Contact not found' }])
    expect((await mine.api('GET', `/contacts/${id}/archive`)).text).toBe(missing.text)
    await erase(theirs, id)
    expect((await theirs.api('GET', `/contacts/${id}/archive`)).text).toBe(missing.text)
  })
})
