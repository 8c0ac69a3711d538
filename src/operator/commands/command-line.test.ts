import { Readable } from 'node:stream'
import { Command, CommanderError } from 'commander'
import { beforeAll, describe, expect, it } from 'vitest'
import { createTestDatabase } from '../../../test/database.ts'
import { createOperatorApi, operatorDeps } from '../../../test/operator-deps.ts'
import type { Pool } from '../../db/connect.ts'
import { type DeadLetterState, storeDeadLetters } from '../../inbound/handling/unhandled/dead-letter-store.ts'
import { createSenderCache } from '../../senders/sender.ts'
import { operatorCommands } from './command-line.ts'

let db: Pool
let closed = 0
let count = 0

beforeAll(async () => {
  db = (await createTestDatabase()).db
})

/** Runs one command line as a shell would hand it over. */
async function parley(args: string[], stdin = '') {
  const shown = { out: '', err: '', code: 0 }
  const program = new Command('parley').exitOverride().configureOutput({
    writeOut: (text) => {
      shown.out += text
    },
    writeErr: (text) => {
      shown.err += text
    },
  })
  const close = async () => {
    closed += 1
  }
  operatorCommands(program, async () => ({ ...operatorDeps(db), close }), { stdin: Readable.from([stdin]) })
  try {
    await program.parseAsync(args, { from: 'user' })
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    shown.code = error.exitCode
  }
  return shown
}

const json = async (...args: string[]) => JSON.parse((await parley([...args, '--json'])).out)
const newCompany = async (): Promise<string> => String((await json('company', 'create', 'Acme')).id)
const number = (overrides: Record<string, string> = {}): string[] => {
  count += 1
  const options = {
    provider: 'meta',
    'phone-number': `+1 555 ${1_000_000 + count}`,
    'phone-name': 'Acme',
    'phone-number-id': `cli-${count}`,
    'waba-account-id': 'waba-1',
    'access-token': 'EAAverysecret',
    ...overrides,
  }
  return Object.entries(options).flatMap(([name, value]) => [`--${name}`, value])
}

describe('company', () => {
  it('is created, shown, changed, listed and removed as by the API', async () => {
    const settings = {
      ...{ rateLimitPerMinute: 250, readReceipts: false, defaultCountry: null, registrationLimit: 50 },
      ...{ sessionRateLimitPerMinute: 3_000, agentsMayErase: false },
    }
    const created = await json('company', 'create', 'Acme', '--rate-limit-per-minute', '250', '--read-receipts', 'off')
    expect(created).toEqual({ id: created.id, name: 'Acme', ...settings, createdAt: expect.any(String) })
    const id = String(created.id)
    const { call, close } = await createOperatorApi(db, operatorDeps(db))
    expect(created).toEqual((await call('GET', `/companies/${id}`)).body)
    await close()
    expect(await json('company', 'update', id, '--name', 'New')).toEqual({ ...created, name: 'New' })
    expect(await json('company', 'update', id, '--read-receipts', 'on')).toMatchObject({ readReceipts: true })
    expect(await json('company', 'update', id, '--registration-limit', '80')).toMatchObject({ registrationLimit: 80 })
    const sessions = ['--session-rate-limit-per-minute', '500', '--agents-may-erase', 'on']
    const allowed = { sessionRateLimitPerMinute: 500, agentsMayErase: true }
    expect(await json('company', 'update', id, ...sessions)).toMatchObject(allowed)
    expect(await json('company', 'update', id, '--default-country', 'it')).toMatchObject({ defaultCountry: 'IT' })
    expect(await json('company', 'update', id, '--default-country', 'none')).toMatchObject({ defaultCountry: null })
    expect(await json('company', 'list')).toContainEqual(await json('company', 'show', id))
    expect(await json('company', 'remove', id)).toEqual({ success: true })
    expect(await parley(['company', 'show', id])).toEqual({ out: '', err: 'error: Company not found\n', code: 1 })
  })

  it('is printed as lines, a list as a table with aligned columns', async () => {
    const id = await newCompany()
    expect((await parley(['company', 'show', id])).out).toMatch(
      new RegExp(
        `^id {25}${id}\nname {23}Acme\nrateLimitPerMinute {9}100\nreadReceipts {15}true\ndefaultCountry {13}-\nregistrationLimit {10}50\nsessionRateLimitPerMinute {2}3000\nagentsMayErase {13}false\ncreatedAt {18}\\S+Z\n$`,
      ),
    )
    const lines = (await parley(['company', 'list'])).out.trimEnd().split('\n')
    const column = lines[0]!.indexOf('rateLimitPerMinute')
    expect(lines.length).toBeGreaterThan(1)
    for (const line of lines.slice(1))
      expect(line.slice(column)).toMatch(/^[0-9]+ +(true|false) +- +50 +3000 +false +\S+Z$/)
  })
})

describe('key', () => {
  it('is made with its token shown, listed without, and revoked', async () => {
    const id = await newCompany()
    const flags = ['--name', 'CRM', '--permissions', 'whatsapp', 'transactional', '--expires-at', '2027-01-01']
    const created = await json('key', 'create', id, ...flags, '--allowed-origins', 'https://a.com', 'https://b.com')
    expect(created).toMatchObject({
      permissions: ['WhatsApp', 'Transactional'],
      allowedOrigins: ['https://a.com', 'https://b.com'],
      expiresAt: '2027-01-01T00:00:00.000Z',
    })
    expect(created.token).toContain(created.clientId)
    const listed = await parley(['key', 'list', id])
    expect(listed.out).toContain('WhatsApp,Transactional')
    expect(listed.out).not.toContain(created.token.split('-')[2])
    expect((await parley(['key', 'revoke', id, created.clientId])).out).toBe('success  true\n')
    expect((await parley(['key', 'list', id])).out).toBe('none\n')
    expect(await parley(['key', 'revoke', id, created.clientId])).toMatchObject({
      err: 'error: API key not found\n',
      code: 1,
    })
  })

  it('is refused in one line that names every field at fault', async () => {
    const wrong = ['--name', ' ', '--permissions', 'Email', '--expires-at', 'never']
    const { err, code, out } = await parley(['key', 'create', await newCompany(), ...wrong])
    expect({ code, out, lines: err.split('\n').length }).toEqual({ code: 1, out: '', lines: 2 })
    for (const path of ['name', 'permissions[0]', 'expiresAt']) expect(err).toContain(path)
  })
})

describe('sender', () => {
  it('is connected, listed, changed and disconnected', async () => {
    const id = await newCompany()
    const one = await json('sender', 'connect', id, ...number({ tier: '2', 'app-secret': 'shhh' }))
    const two = await json('sender', 'connect', id, ...number(), '--preferred')
    expect(one).toMatchObject({ isPreferred: true, tier: 2, provider: 'meta' })
    expect(two).toMatchObject({ isPreferred: true, tier: null })
    expect(await json('sender', 'list', id)).toEqual([{ ...one, isPreferred: false }, two])
    const change = ['--tier', 'none', '--daily-limit', '500', '--phone-name', 'New']
    const changed = await json('sender', 'update', id, String(one.channelId), ...change)
    expect(changed).toEqual({ ...one, isPreferred: false, tier: null, dailyLimit: 500, phoneName: 'New' })
    expect(await json('sender', 'remove', id, String(two.channelId))).toEqual({ success: true })
    expect(await json('sender', 'list', id)).toEqual([{ ...changed, isPreferred: true }])
  })

  it('is answered with the address for its events; a list has no room for that', async () => {
    const id = await newCompany()
    const flags = ['--app-id', 'app-1', '--app-name', 'Acme', '--throughput-per-second', '20']
    const connected = await parley(['sender', 'connect', id, ...number(), ...flags])
    expect(connected.out).toMatch(/^webhookUrl +https:.*\/public\/v1\/webhooks\/whatsapp$/m)
    expect(connected.out).toMatch(/^webhookSteps +\S/m)
    expect(connected.out).toMatch(/^throughputPerSecond +20$/m)
    expect((await parley(['sender', 'list', id])).out).not.toContain('webhookSteps')
  })

  it('says each check, and that a number is connected without one', async () => {
    const { err, code } = await parley(['sender', 'connect', await newCompany(), ...number()])
    expect(code).toBe(0)
    expect(err).toMatch(
      /^credential: NOT CHECKED, meta could not be reached \(.+\)\. The number is connected without checks; /,
    )
    expect(err).toMatch(/^number: \+1 555 \d+, Acme \(as given\)$/m)
    expect(err).toMatch(/^templates: \d+ read from the provider$/m)
    expect(err).toMatch(/^events: NOT SIGNED, .*give --app-secret or --webhook-secret$/m)
    expect(err).toMatch(/^verify token: NOT SET, .*set WHATSAPP_VERIFY_TOKEN/m)
  })

  it('refuses two secrets on standard input without their names', async () => {
    const flags = number({ 'access-token': '-', 'app-secret': '-' })
    for (const lines of ['EAAfrominput\nsecretfrominput\n', 'access-token=EAAfrominput\ntoken=secretfrominput\n']) {
      const { err, code } = await parley(['sender', 'connect', await newCompany(), ...flags], lines)
      expect(code).toBe(1)
      expect(err).toContain('must name its 2 secrets, in the lines access-token=… and app-secret=…')
      expect(err).not.toContain('frominput')
    }
  })

  it('takes two secrets from standard input by their names, in any order, and never prints them', async () => {
    const id = await newCompany()
    const flags = number({ 'access-token': '-', 'app-secret': '-' })
    const { out, code } = await parley(
      ['sender', 'connect', id, ...flags],
      'app-secret=secretfrominput\naccess-token=EAAfrominput\n',
    )
    expect(code).toBe(0)
    expect(out).not.toContain('frominput')
    const [sender] = await createSenderCache({ db, cipher: operatorDeps(db).cipher, ttlMs: 1 }).listFor(Number(id))
    expect(sender).toMatchObject({ accessToken: 'EAAfrominput', appSecret: 'secretfrominput' })
  })

  it('is refused when standard input holds no secret', async () => {
    const answer = await parley(['sender', 'connect', await newCompany(), ...number({ 'access-token': '-' })])
    expect(answer).toMatchObject({ out: '', code: 1 })
    expect(answer.err).toMatch(/^error: validation_error: accessToken .+\n$/)
  })

  it.each([
    [{ tier: 'five' }, /tier/],
    [{ 'daily-limit': '1.5' }, /dailyLimit/],
    [{ provider: 'telegram' }, /provider/],
    [{ 'phone-number': '12' }, /phoneNumber/],
  ])('is refused with %j', async (wrong, message) => {
    const answer = await parley(['sender', 'connect', await newCompany(), ...number(wrong as Record<string, string>)])
    expect(answer).toMatchObject({ out: '', code: 1, err: expect.stringMatching(message) })
  })

  it('is not found in another company', async () => {
    const [id, other] = [await newCompany(), await newCompany()]
    const { channelId } = await json('sender', 'connect', other, ...number())
    for (const named of [String(channelId), 'x']) {
      expect((await parley(['sender', 'update', id, named, '--tier', '1'])).err).toBe('error: Sender not found\n')
      expect((await parley(['sender', 'remove', id, named])).err).toBe('error: Sender not found\n')
    }
  })
})

it('syncs templates', async () => {
  const id = await newCompany()
  expect(await json('templates', 'sync', id)).toEqual({ synced: Number(id) + 1000 })
})

it('closes what it opened, after an error too, and says what failed to open', async () => {
  const before = closed
  await parley(['company', 'list'])
  await parley(['company', 'show', 'x'])
  expect(closed - before).toBe(2)

  const program = new Command('parley').exitOverride()
  let err = ''
  program.configureOutput({
    writeErr: (text) => {
      err += text
    },
  })
  operatorCommands(program, () => Promise.reject(new Error('connect ECONNREFUSED\n127.0.0.1:5432')))
  await expect(program.parseAsync(['company', 'list'], { from: 'user' })).rejects.toMatchObject({ exitCode: 1 })
  expect(err).toBe('error: connect ECONNREFUSED 127.0.0.1:5432\n')
})

describe('events', () => {
  it('are listed page by page and shown whole, as by the API', async () => {
    const keep = (state: DeadLetterState, body: string) =>
      storeDeadLetters(db, [
        {
          ...{ state, reason: 'r', phoneNumberId: '5', wabaAccountId: null, app: null, eventId: null },
          body: Buffer.from(body),
          receivedAt: new Date(),
        },
      ])
    await keep('failed', 'older')
    await keep('unroutable', 'x'.repeat(5_000))
    await keep('unreadable', 'newer')
    const [newer] = await json('events', 'failed', '--limit', '1')
    expect(newer).toMatchObject({ state: 'unreadable', body: 'newer' })
    expect(await json('events', 'failed', '--before', String(newer.id))).toMatchObject([{ body: 'older' }])
    const [listed] = await json('events', 'unroutable')
    expect(listed).toMatchObject({ body: 'x'.repeat(4_096), bodyBytes: 5_000 })
    expect(await json('events', 'show', String(listed.id))).toEqual({ ...listed, body: 'x'.repeat(5_000) })
    expect(await parley(['events', 'show', '999999'])).toEqual({ out: '', err: 'error: Event not found\n', code: 1 })
  })
})
