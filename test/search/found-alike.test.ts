import { beforeAll, expect, test } from 'vitest'
import { sweepSearchTexts } from '../../src/contacts/search/search-sweep.ts'
import { refoldProfiles } from '../../src/conversations/list/profile-search.ts'
import { inboxOf, providerOf, textFrom } from '../provider-webhook.ts'
import { startTestService, type TestService, uniquePhone } from '../service.ts'

/** Stored name, search, and whether it finds the name. */
const PAIRS: [string, string, boolean][] = [
  ['Marta Rossi', 'MARTA', true],
  ['Marta Rossi', 'ta ro', true],
  ['Marta Rossi', 'martha', false],
  ['José Muñoz', 'jose munoz', true],
  ['Jose Munoz', 'JOSÉ MUÑOZ', true],
  ['Jose\u0301', 'josé', true],
  ['Łukasz Żółć', 'lukasz zolc', true],
  ['Lukasz', 'Łukasz', true],
  ['Søren Kierkegård', 'soren kierkegard', true],
  ['Soren', 'SØREN', true],
  ['Đorđe', 'dorde', true],
  ['Dorde', 'Đorđe', true],
  ['Groß', 'gross', true],
  ['GROSS', 'groß', true],
  ['STRAẞE', 'strasse', true],
  ['Işıl', 'isil', true],
  ['ISIL', 'ışıl', true],
  ['İbrahim', 'ibrahim', true],
  ['ibrahim', 'İBRAHİM', true],
  ['Æther Œuvre', 'aether oeuvre', true],
  ['Þórður', 'thordur', true],
  ['Ħal Għaxaq', 'hal ghaxaq', true],
  ['Nguyễn Thị', 'nguyen thi', true],
  ['Škoda Čapek', 'skoda capek', true],
  ['Müller', 'muller', true],
  ['Müller', 'mueller', false],
  ['مُحَمَّد', 'محمد', true],
  ['محمد', 'مُحَمَّد', true],
  ['محـــمد', 'محمد', true],
  ['أحمد', 'احمد', true],
  ['احمد', 'أحمد', true],
  ['محمد', 'احمد', false],
  ['שָׁלוֹם', 'שלום', true],
  ['Ｍａｒｔａ', 'marta', true],
  ['Marta', 'ＭＡＲＴＡ', true],
  ['ﾀﾅｶ ﾀﾞｲｷ', 'タナカ ダイキ', true],
  ['タナカ', 'ﾀﾅｶ', true],
  ['ダイキ', 'タイキ', false],
  ['𝓙𝓾𝓵𝓲𝓪', 'julia', true],
  ['Анна Йонова', 'АННА ИОНОВА', true],
  ['Семён', 'семен', true],
  ['Σοφός', 'ΣΟΦΟΣ', true],
  ['王小明', '小明', true],
  ['王小明', '大明', false],
  ['김민준', '민준', true],
  ['O’Hara', "o'hara", true],
  ["O'Hara", 'o’hara', true],
  ['Jean\u2011Luc', 'jean-luc', true],
  ['Anna\u00a0\u3000Maria', 'anna maria', true],
  ['\u200fMarta\u200f', 'marta', true],
  ['Ada ❤\ufe0f', '❤', true],
  ['Zoë', 'zoey', false],
]

let service: TestService
let company: Awaited<ReturnType<TestService['createCompany']>>
const ids = new Map<string, { contactId: number; chatId: number; profile: string }>()

beforeAll(async () => {
  service = await startTestService({ mirrors: false })
  company = await service.createCompany()
  const provider = providerOf(service)
  for (const name of new Set(PAIRS.map(([stored]) => stored))) {
    const [named, profile] = [uniquePhone(), uniquePhone()]
    const { body } = await company.api('POST', '/contacts', { phone: named, firstName: name })
    await provider.named(company.phoneNumberId, name, textFrom(profile, 'Hello'))
    const { chatId } = await inboxOf(company).find(profile)
    ids.set(name, { contactId: body.data[0].id, chatId, profile })
  }
}, 300_000)

const found = async (
  list: string,
  search: string,
  id: (row: { id: number; chatId: number }) => number,
): Promise<number[]> => {
  const { body } = await company.api('GET', `${list}?search=${encodeURIComponent(search)}`)
  return body.data.map(id)
}
const contactsWith = (search: string) => found('/contacts', search, ({ id }) => id)
const chatsWith = (search: string) => found('/whatsapp/conversations', search, ({ chatId }) => chatId)

test.each(PAIRS)('%j searched by %j: %j, in both lists', async (stored, search, isFound) => {
  const { contactId, chatId } = ids.get(stored)!
  expect((await contactsWith(search)).includes(contactId)).toBe(isFound)
  expect((await chatsWith(search)).includes(chatId)).toBe(isFound)
})

test('a conversation is found by the name of its contact alike', async () => {
  const { chatId, profile } = ids.get('Müller')!
  const { contact } = await inboxOf(company).find(profile)
  await company.api('PUT', `/contacts/${contact.id}`, { lastName: 'Wiśniewski-Großmann' })
  expect(await chatsWith('wisniewski-grossmann')).toEqual([chatId])
})

test.each([
  'b@münchen.example',
  'B@MÜNCHEN',
  'xn--mnchen-3ya',
  'munchen.example',
])('%s finds both spellings of a domain', async (search) => {
  const own = await service.createCompany({ isConnected: false })
  for (const email of ['b@münchen.example', 'c@xn--mnchen-3ya.example']) await own.api('POST', '/contacts', { email })
  const { body } = await own.api('GET', `/contacts?search=${encodeURIComponent(search)}`)
  const isLocal = search.toLowerCase().startsWith('b@')
  expect(body.data.map(({ email }: { email: string }) => email.at(0)).toSorted()).toEqual(isLocal ? ['b'] : ['b', 'c'])
})

test('texts of earlier versions are folded again by two passes, a day apart', async () => {
  const { db } = service
  const { contactId, chatId } = ids.get('Łukasz Żółć')!
  const sweep = () => sweepSearchTexts({ db, refoldProfiles }, new AbortController().signal)
  const storeFormer = async () => {
    await db`update contacts set search_text = 'XAABECukasz' where (company_id, id) = (${company.companyId}, ${contactId})`
    await db`update conversations set profile_search = 'XAABECukasz zoXAABECc' where (company_id, id) = (${company.companyId}, ${chatId})`
  }
  const isFound = async () => [
    (await contactsWith('lukasz')).includes(contactId),
    (await chatsWith('lukasz')).includes(chatId),
  ]
  await db`delete from search_passes`
  await storeFormer()
  expect(await isFound()).toEqual([false, false])
  await sweep()
  expect(await isFound()).toEqual([true, true])
  await storeFormer()
  await sweep()
  expect(await isFound()).toEqual([false, false])
  await db`update search_passes set ended_at = now() - interval '25 hours'`
  await sweep()
  expect(await isFound()).toEqual([true, true])
  const before = await db`select xmin::text from contacts where company_id = ${company.companyId} order by id`
  await db`delete from search_passes`
  await sweep()
  expect(await db`select xmin::text from contacts where company_id = ${company.companyId} order by id`).toEqual(before)
})
