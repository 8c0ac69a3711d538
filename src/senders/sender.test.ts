import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { effectiveDailyLimit, parseSenderPhone, resolveSender, type Sender, slotSecondsOf } from './sender.ts'

const sender = (values: Partial<Sender>): Sender => ({
  id: 1,
  provider: 'meta',
  phoneNumber: '+1 555 010 0001',
  phone: '15550100001',
  phoneName: 'Acme',
  phoneNumberId: '100000000000001',
  wabaAccountId: '900',
  portfolioId: null,
  accessToken: 'token',
  appSecret: null,
  webhookSecret: null,
  appId: null,
  appName: null,
  throughputPerSecond: null,
  isSharedWithApp: false,
  marketingAddress: 'auto',
  marketingTermsSigned: false,
  directSend: false,
  apiBaseUrl: null,
  isPreferred: false,
  dailyLimit: null,
  ...values,
})

const first = sender({ isPreferred: true })
const second = sender({ id: 2, phone: '4915100000002', phoneNumberId: 'app-uuid-2' })
const both = [first, second]

describe('which number sends', () => {
  it.each([
    [undefined, 1],
    ['4915100000002', 2],
    ['+49 (151) 0000-0002', 2],
    ['+49 151.0000/0002', 2],
    ['0049 151 00000002', 2],
    ['\u202a+49\u00a0151\u201100000002\u202c', 2],
    ['app-uuid-2', 2],
    ['100000000000001', 1],
    ['1 555 010 0001', 1],
  ])('%j is number %i', (requested, id) => {
    expect(resolveSender(both, requested).id).toBe(id)
  })

  it.each([
    '',
    ' ',
    '5550100001',
    '+49 151 0000 0003',
    'tel4915100000002',
    'APP-UUID-2',
    '900',
    '+',
  ])('%j is none of them: WHATSAPP_SENDER_NOT_FOUND', (requested) => {
    expect(() => resolveSender(both, requested)).toThrow(/WHATSAPP_SENDER_NOT_FOUND/)
  })

  it('does not exist without any number: no_whatsapp_account when omitted, else not found', () => {
    expect(() => resolveSender([], undefined)).toThrow(/no_whatsapp_account/)
    expect(() => resolveSender([], '15550100001')).toThrow(/WHATSAPP_SENDER_NOT_FOUND/)
  })

  it('is the telephone number where an id of another sender reads the same', () => {
    const namesake = sender({ id: 3, phone: '15550100003', phoneNumberId: second.phone })
    expect(resolveSender([namesake, ...both], second.phone).id).toBe(2)
  })

  it('is the preferred connection of a line that is connected twice, else the older', () => {
    const twin = sender({ id: 4, phoneNumberId: 'twin', isPreferred: true })
    expect(resolveSender([sender({}), twin], first.phone).id).toBe(4)
    expect(resolveSender([sender({}), { ...twin, isPreferred: false }], first.phone).id).toBe(1)
  })

  it('is found however its digits are broken up', () => {
    const separators = fc.stringMatching(/^[ ().\-/\u00a0]{0,3}$/)
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.stringMatching(/^[1-9][0-9]{6,14}$/), { minLength: 1, maxLength: 8 }),
        fc.nat(),
        fc.array(separators, { minLength: 15, maxLength: 15 }),
        (phones, pick, gaps) => {
          const senders = phones.map((phone, id) => sender({ id, phone, phoneNumberId: `id-${id}` }))
          const chosen = pick % phones.length
          const written = [...phones[chosen]!].map((digit, at) => `${gaps[at]}${digit}`).join('')
          expect(resolveSender(senders, `+${written}`).id).toBe(chosen)
        },
      ),
    )
  })

  it('is always one of those given, or a refusal of 404', () => {
    fc.assert(
      fc.property(fc.option(fc.string(), { nil: undefined }), fc.subarray(both), (requested, senders) => {
        try {
          expect(senders).toContain(resolveSender(senders, requested))
        } catch (error) {
          expect(error).toMatchObject({ status: 404 })
        }
      }),
    )
  })
})

it.each([
  ['123456', undefined],
  ['1234567', '1234567'],
  ['1234567890123456', undefined],
  ['+1 (555) 010-0001', '15550100001'],
  ['1-800-FLOWERS', undefined],
])('%s holds the telephone number %s', (text, phone) => {
  expect(parseSenderPhone(text)).toBe(phone)
})

it.each([
  [null, null, null],
  [1, null, 1_000],
  [2, null, 10_000],
  [3, null, 100_000],
  [4, null, null],
  [1, 250, 250],
  [4, 5, 5],
  [null, 7, 7],
])('tier %s with limit %s allows %s a day', (tier, dailyLimit, allowed) => {
  expect(effectiveDailyLimit({ tier, dailyLimit })).toBe(allowed)
})

it.each([
  ['80 messages', null, false, 1 / 80],
  ['20 messages, since the phone app uses it too,', null, true, 1 / 20],
  ['the messages that were set', 250, true, 1 / 250],
  ['any number of messages: no provider allows as many as were set,', 1_001, false, null],
])('a number sends %s a second', (_what, throughputPerSecond, isSharedWithApp, seconds) => {
  expect(slotSecondsOf({ throughputPerSecond, isSharedWithApp })).toBe(seconds)
})
