import { describe, expect, test } from 'vitest'
import { eraseContact } from '../../src/personal-data/erase-contact.ts'
import { eventually } from '../service.ts'
import { startErasures, textsOf } from './erasure-world.ts'

const { erasing, createShop, createPerson, placesOf, complete } = await startErasures()

describe('DELETE /contacts/{id}?erase=true', () => {
  test('ends the same when it is killed in the middle and started again', { timeout: 300_000 }, async () => {
    const shop = await createShop()
    const person = await createPerson(shop)
    let kills = 0
    const endEmailJobs = async () => {
      kills += 1
      throw new Error('killed')
    }
    // The request dies after the first mails; the job of the service goes on.
    await eraseContact({ ...erasing, endEmailJobs, onFailure: () => {} }, shop.companyId, person.id)
    expect(kills).toBe(1)
    expect(await placesOf([person.word])).not.toEqual([])
    await eventually(async () => (await placesOf(textsOf(person))).length === 0, 40_000)
    await complete(shop.companyId, person.id)
    expect(await placesOf(textsOf(person))).toEqual([])
  })
})
