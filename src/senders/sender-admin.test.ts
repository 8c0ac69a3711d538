import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createTestDatabase } from '../../test/database.ts'
import { operatorDeps, type Reported } from '../../test/operator-deps.ts'
import { createCompany } from '../companies/company.ts'
import type { Pool } from '../db/connect.ts'
import { createSenderCache } from './sender.ts'
import {
  connectSender,
  getSender,
  listSenders,
  type NewSender,
  removeAllSenders,
  removeSender,
  type SenderAdminDeps,
  updateSender,
} from './sender-admin.ts'

let db: Pool
let deps: SenderAdminDeps & { reported: Reported }
let companyId: number
let count = 0

const number = (input: Partial<NewSender> = {}): NewSender => {
  count += 1
  return {
    provider: 'meta',
    phoneNumber: `+1 555 ${1_000_000 + count}`,
    phoneName: 'Acme',
    phoneNumberId: `pn-${count}`,
    wabaAccountId: 'waba-1',
    accessToken: 'EAAsecret',
    ...input,
  }
}
const connect = (input: Partial<NewSender> = {}) => connectSender(deps, companyId, number(input))
const preferred = async () => (await listSenders(db, companyId)).filter((one) => one.isPreferred).map((one) => one.id)

beforeAll(async () => {
  db = (await createTestDatabase({ mirrors: true })).db
})
beforeEach(async () => {
  deps = operatorDeps(db)
  companyId = (await createCompany(db, { name: 'Acme' })).id
})

describe('exactly one number is preferred', () => {
  it('the first one, whatever it says; a later one only when it says so', async () => {
    const one = await connect({ isPreferred: false })
    await connect()
    expect(await preferred()).toEqual([one.id])
    const three = await connect({ isPreferred: true })
    expect(three.isPreferred).toBe(true)
    expect(await preferred()).toEqual([three.id])
  })

  it('after twenty connected at once', async () => {
    const senders = await Promise.all(
      Array.from({ length: 20 }, (_, index) => connect({ isPreferred: index % 3 === 0 })),
    )
    expect(new Set(senders.map((one) => one.id)).size).toBe(20)
    expect(await preferred()).toHaveLength(1)
  })

  it('after changes and removals at once', async () => {
    const senders = []
    for (let index = 0; index < 8; index += 1) senders.push(await connect())
    const changes = senders.map((one, index) =>
      index % 2 === 0
        ? removeSender(deps, companyId, one.id)
        : updateSender(deps, companyId, one.id, { isPreferred: true }),
    )
    await Promise.all(changes)
    expect(await listSenders(db, companyId)).toHaveLength(4)
    expect(await preferred()).toHaveLength(1)
  })

  it('moves when another is preferred, and cannot be taken away alone', async () => {
    const one = await connect()
    const two = await connect()
    expect((await updateSender(deps, companyId, two.id, { isPreferred: true })).isPreferred).toBe(true)
    expect(await preferred()).toEqual([two.id])
    await expect(updateSender(deps, companyId, two.id, { isPreferred: false })).rejects.toMatchObject({ status: 422 })
    await updateSender(deps, companyId, one.id, { isPreferred: false })
    expect(await preferred()).toEqual([two.id])
  })

  it('goes to the oldest that remains, and comes back with the next first number', async () => {
    const [one, two, three] = [await connect(), await connect(), await connect()]
    await updateSender(deps, companyId, three.id, { isPreferred: true })
    await removeSender(deps, companyId, three.id)
    expect(await preferred()).toEqual([one.id])
    await removeSender(deps, companyId, two.id)
    expect(await preferred()).toEqual([one.id])
    await removeSender(deps, companyId, one.id)
    expect(await preferred()).toEqual([])
    const four = await connect()
    expect(await preferred()).toEqual([four.id])
  })
})

describe("the provider's number id", () => {
  const routes = () => db`select sender_id from sender_routes where company_id = ${companyId} order by sender_id`

  it('leads to one sender: connected again is 409 duplicate_resource and leaves nothing behind', async () => {
    const one = await connect({ phoneNumberId: 'taken' })
    await expect(connect({ phoneNumberId: 'taken' })).rejects.toMatchObject({ status: 409 })
    const two = await connect()
    await expect(updateSender(deps, companyId, two.id, { phoneNumberId: 'taken' })).rejects.toThrow(
      /duplicate_resource/,
    )
    expect((await routes()).map((row) => row.senderId)).toEqual([one.id, two.id])
    expect(await listSenders(db, companyId)).toHaveLength(2)
  })

  it('is won by one of many companies that connect it at once', async () => {
    const companies = await Promise.all(Array.from({ length: 8 }, () => createCompany(db, { name: 'Rival' })))
    const input = number({ phoneNumberId: 'contested' })
    const outcomes = await Promise.allSettled(companies.map((one) => connectSender(deps, one.id, input)))
    expect(outcomes.filter((outcome) => outcome.status === 'fulfilled')).toHaveLength(1)
    for (const outcome of outcomes) {
      if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ status: 409 })
    }
  })

  it('is free for another company once the number is disconnected', async () => {
    const one = await connect({ phoneNumberId: 'moving' })
    await removeSender(deps, companyId, one.id)
    expect(await routes()).toHaveLength(0)
    const other = await createCompany(db, { name: 'Other' })
    const moved = await connectSender(deps, other.id, number({ phoneNumberId: 'moving' }))
    expect(moved.isPreferred).toBe(true)
  })

  it('moves with the sender, and is reported like a new connection', async () => {
    const one = await connect({ phoneNumberId: 'old-id' })
    await updateSender(deps, companyId, one.id, { phoneNumberId: 'new-id' })
    await updateSender(deps, companyId, one.id, { phoneName: 'Renamed' })
    expect(deps.reported.connected.map((sender) => sender.phoneNumberId)).toEqual(['old-id', 'new-id'])
    await connect({ phoneNumberId: 'old-id' })
  })

  it('is not connected when what has to follow from it fails', async () => {
    const failing = { ...deps, onSenderConnected: () => Promise.reject(new Error('no job')) }
    await expect(connectSender(failing, companyId, number())).rejects.toThrow('no job')
    expect(await listSenders(db, companyId)).toEqual([])
  })
})

describe('a change', () => {
  it('touches what it carries; null takes an optional value away', async () => {
    const one = await connect({ tier: 2, dailyLimit: 50, apiBaseUrl: 'http://127.0.0.1:3001/', appSecret: 'shhh' })
    expect(one).toMatchObject({ tier: 2, dailyLimit: 50, apiBaseUrl: 'http://127.0.0.1:3001' })
    const two = await updateSender(deps, companyId, one.id, { phoneNumber: '0049 151/2345678', dailyLimit: null })
    expect(two).toEqual({ ...one, phoneNumber: '0049 151/2345678', phone: '491512345678', dailyLimit: null })
    const three = await updateSender(deps, companyId, one.id, { apiBaseUrl: null, tier: null, appSecret: null })
    expect(three).toEqual({ ...two, apiBaseUrl: null, tier: null })
    expect(await updateSender(deps, companyId, one.id, {})).toEqual(three)
  })

  it('names every wrong value at once', async () => {
    const wrong = { phoneNumber: '12', phoneName: ' ', phoneNumberId: ' ', wabaAccountId: ' ', apiBaseUrl: 'ftp://x' }
    const paths = ['phoneNumber', 'phoneName', 'phoneNumberId', 'wabaAccountId', 'apiBaseUrl']
    const body = { error: { details: { fields: paths.map((path) => expect.objectContaining({ path })) } } }
    await expect(connect(wrong)).rejects.toMatchObject({ status: 422, body })
    const one = await connect()
    await expect(updateSender(deps, companyId, one.id, wrong)).rejects.toMatchObject({ status: 422, body })
  })

  it("finds no other company's number: the same 404 as for one that never was", async () => {
    const other = await createCompany(db, { name: 'Other' })
    const foreign = await connectSender(deps, other.id, number())
    for (const id of [foreign.id, 999_999_999]) {
      await expect(getSender(db, companyId, id)).rejects.toThrow('Sender not found')
      await expect(updateSender(deps, companyId, id, { phoneName: 'x' })).rejects.toThrow('Sender not found')
      await expect(removeSender(deps, companyId, id)).rejects.toThrow('Sender not found')
    }
    expect(await getSender(db, other.id, foreign.id)).toEqual(foreign)
  })

  it('needs a company', async () => {
    await expect(connectSender(deps, 999_999_999, number())).rejects.toThrow('Company not found')
  })
})

it('keeps secrets sealed in the table and out of every record', async () => {
  const secrets = { accessToken: 'EAAverysecrettoken', appSecret: 'appsecretvalue' }
  const stored = () => db`select senders::text as everything from senders where company_id = ${companyId}`
  const one = await connect(secrets)
  const before = await stored()
  const changed = await updateSender(deps, companyId, one.id, { accessToken: 'EAAanothersecret' })
  const everything = JSON.stringify([one, before, changed, await stored(), await listSenders(db, companyId)])
  for (const secret of [...Object.values(secrets), 'EAAanothersecret']) expect(everything).not.toContain(secret)
  expect(Object.keys(one)).not.toContain('accessToken')
})

it('starts each sender with a throttle that is free', async () => {
  const one = await connect()
  const limits = await db`
    select next_slot_at from sender_limits where company_id = ${companyId} and sender_id = ${one.id}`
  expect([...limits]).toEqual([{ nextSlotAt: null }])
})

it('disconnects all numbers of a company, and only those', async () => {
  const other = await createCompany(db, { name: 'Other' })
  const kept = await connectSender(deps, other.id, number())
  await connect()
  await connect()
  await removeAllSenders(db, companyId)
  expect(await listSenders(db, companyId)).toEqual([])
  expect(await listSenders(db, other.id)).toEqual([kept])
  expect(await db`select 1 from sender_routes where company_id = ${companyId}`).toHaveLength(0)
})

describe('the cache of the process', () => {
  it('is ready to send: secrets in clear, the limit worked out, oldest first', async () => {
    const one = await connect({ tier: 1, appSecret: 'shhh' })
    const two = await connect({ tier: 1, dailyLimit: 250, isPreferred: true })
    const senders = await createSenderCache({ db, cipher: deps.cipher, ttlMs: 60_000 }).listFor(companyId)
    expect(senders).toEqual([
      expect.objectContaining({
        id: one.id,
        accessToken: 'EAAsecret',
        appSecret: 'shhh',
        dailyLimit: 1_000,
        isPreferred: false,
      }),
      expect.objectContaining({ id: two.id, phone: two.phone, appSecret: null, dailyLimit: 250, isPreferred: true }),
    ])
  })

  it('is asked for once by many, kept, and forgotten on demand', async () => {
    await connect()
    const cache = createSenderCache({ db, cipher: deps.cipher, ttlMs: 60_000 })
    const asked = [cache.listFor(companyId), cache.listFor(companyId)]
    expect(asked[0]).toBe(asked[1])
    await Promise.all(asked)
    await connect()
    expect(await cache.listFor(companyId)).toHaveLength(1)
    cache.drop(companyId)
    expect(await cache.listFor(companyId)).toHaveLength(2)
  })

  it('forgets during a query too, and does not fail callers that wait for it', async () => {
    const cache = createSenderCache({ db, cipher: deps.cipher, ttlMs: 60_000 })
    const early = cache.listFor(companyId)
    cache.drop(companyId)
    await connect()
    expect(await cache.listFor(companyId)).toHaveLength(1)
    await early
    expect(await cache.listFor(companyId)).toHaveLength(1)
  })

  it('does not keep a failure', async () => {
    await connect()
    let broken = true
    const decrypt = (sealed: string) => {
      if (broken) throw new Error('wrong key')
      return deps.cipher.decrypt(sealed)
    }
    const cache = createSenderCache({ db, cipher: { ...deps.cipher, decrypt }, ttlMs: 60_000 })
    await expect(cache.listFor(companyId)).rejects.toThrow('wrong key')
    broken = false
    expect(await cache.listFor(companyId)).toHaveLength(1)
  })
})
