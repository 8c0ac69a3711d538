import { expect, test } from 'vitest'
import { fixedClock } from '../../src/platform/clock.ts'
import { newPerson, startPeople } from './people-world.ts'

const HOUR_MS = 3600 * 1000
const clock = fixedClock(new Date())
const { service, createShop } = await startPeople({ clock, config: { providerTimeoutMs: 3_000 } })

const refused = (place: number) => `39${place}00131026`
const unanswered = () => `39${Math.floor(Math.random() * 1e3)}00000000`

test('a refused send gives its place in the daily limit back', async () => {
  const shop = await createShop({ dailyLimit: 2 })
  expect([(await shop.send(refused(1))).status, (await shop.send(refused(2))).status]).toEqual([422, 422])
  expect((await shop.send(newPerson().phone)).status).toBe(200)
  expect((await shop.send(newPerson().phone)).status).toBe(200)
  expect((await shop.send(newPerson().phone)).status).toBe(429)
})

test('a send that the provider never saw gives its place back', async () => {
  const shop = await createShop({ dailyLimit: 1 })
  await service.control('PUT', '/behaviour', { refuseWithCode: 131000 })
  expect((await shop.send(newPerson().phone)).status).toBe(500)
  await service.control('PUT', '/behaviour', { refuseWithCode: null })
  expect((await shop.send(newPerson().phone)).status).toBe(200)
  expect((await shop.send(newPerson().phone)).status).toBe(429)
})

test('a send whose outcome is unknown keeps its place', async () => {
  const shop = await createShop({ dailyLimit: 1 })
  expect((await shop.send(unanswered())).body.error.code).toBe('send_outcome_unknown')
  expect((await shop.send(newPerson().phone)).status).toBe(429)
})

test('one customer takes one place, whatever the requested number', async () => {
  const shop = await createShop({ dailyLimit: 1 })
  expect((await shop.send('5215512345678')).status).toBe(200)
  expect((await shop.send('525512345678')).status).toBe(200)
  expect((await shop.send(newPerson().phone)).status).toBe(429)
})

test('a place is free again 24 hours after it was taken', async () => {
  const shop = await createShop({ dailyLimit: 1 })
  expect((await shop.send(newPerson().phone)).status).toBe(200)
  clock.advance(24 * HOUR_MS - 1000)
  expect((await shop.send(newPerson().phone)).status).toBe(429)
  clock.advance(2000)
  expect((await shop.send(newPerson().phone)).status).toBe(200)
})
