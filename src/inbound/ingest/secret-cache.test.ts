import { beforeAll, expect, it } from 'vitest'
import { createTestDatabase } from '../../../test/database.ts'
import { createCompany, createSender } from '../../../test/world.ts'
import { connect, type Pool } from '../../db/connect.ts'
import { createSecretCache } from './admission.ts'

let db: Pool
let url: string
let companyId: number
let phoneNumberId: string

const decrypt = (sealed: string) => `open ${sealed}`
const none: never[] = []
const setSecrets = (appSecret: string | null, webhookSecret: string | null = null) =>
  db`update senders set app_secret = ${appSecret}, webhook_secret = ${webhookSecret} where company_id = ${companyId}`

beforeAll(async () => {
  ;({ db, url } = await createTestDatabase())
  companyId = await createCompany(db)
  const senderId = await createSender(db, companyId)
  const [row] = await db<{ phoneNumberId: string }[]>`
    select phone_number_id from senders where company_id = ${companyId} and id = ${senderId}
  `
  phoneNumberId = row!.phoneNumberId
})

it('knows the secrets of a sender by its number and by its account, and none of an unknown name', async () => {
  await setSecrets('app', 'webhook')
  const cache = createSecretCache({ db, decrypt })
  const choices = [{ appSecret: 'open app', webhookSecret: 'open webhook' }]
  expect(await cache.isAny()).toBe(true)
  expect(await cache.requiredBy([phoneNumberId])).toEqual([{ of: 'number', choices }])
  expect(await cache.requiredBy(['WABA1', phoneNumberId, 'unknown'])).toEqual([
    { of: 'account', choices },
    { of: 'number', choices },
  ])
  expect(await cache.requiredBy(['unknown'])).toEqual(none)
})

it('a secret set by another process counts within seconds', async () => {
  await setSecrets(null)
  const cache = createSecretCache({ db, decrypt })
  expect([await cache.isAny(), await cache.requiredBy([phoneNumberId])]).toEqual([false, none])
  await setSecrets('elsewhere')
  expect([await cache.isAny(), await cache.requiredBy([phoneNumberId])]).toEqual([false, none])
  await expect.poll(async () => cache.isAny()).toBe(true)
  await expect
    .poll(() => cache.requiredBy([phoneNumberId]))
    .toEqual([{ of: 'number', choices: [{ appSecret: 'open elsewhere', webhookSecret: null }] }])
})

it('keeps no answer of a query that was running when it was dropped', async () => {
  await setSecrets(null)
  // A single connection runs statements in the order given.
  const single = connect(url, { max: 1 })
  const cache = createSecretCache({ db: single, decrypt })
  const early = [cache.isAny(), cache.requiredBy([phoneNumberId])]
  cache.drop()
  await single`update senders set app_secret = 'first' where company_id = ${companyId}`
  expect(await cache.isAny()).toBe(true)
  expect(await cache.requiredBy([phoneNumberId])).toEqual([
    { of: 'number', choices: [{ appSecret: 'open first', webhookSecret: null }] },
  ])
  expect(await Promise.all(early)).toEqual([false, none])
  expect(await cache.isAny()).toBe(true)
  expect(await cache.requiredBy([phoneNumberId])).toEqual([
    { of: 'number', choices: [{ appSecret: 'open first', webhookSecret: null }] },
  ])
  await single.end()
})
