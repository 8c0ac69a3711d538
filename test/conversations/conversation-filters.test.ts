import { describe, expect, test } from 'vitest'
import { inboxOf, providerOf, textFrom } from '../provider-webhook.ts'
import { eventually, startTestService, type TestService, uniquePhone } from '../service.ts'

const LIST = '/whatsapp/conversations'
const service = await startTestService({ mirrors: true })
const provider = providerOf(service)
type Company = Awaited<ReturnType<TestService['createCompany']>>
type Row = { chatId: number; contact: { phone: string } }
const read = async (company: Company, query: string) => (await company.api('GET', `${LIST}?${query}`)).body

const phonesOf = async (company: Company, query: string): Promise<string[]> =>
  (await read(company, query)).data.map(({ contact }: Row) => contact.phone)

describe('a filtered list', () => {
  test('shows the conversations that fit all filters, newest activity first', async () => {
    const company = await service.createCompany()
    const second = await service.connectSender(company.companyId)
    const inbox = inboxOf(company)
    const [ada, bob, cleo, dan] = [uniquePhone(), uniquePhone(), uniquePhone(), uniquePhone()] as const
    for (const phone of [ada, bob, cleo]) await provider.messages(company.phoneNumberId, textFrom(phone, 'Hello'))
    await provider.messages(second.body.phoneNumberId, textFrom(dan, 'Hello'))
    const patch = async (phone: string, change: object) =>
      company.api('PATCH', `${LIST}/${(await inbox.find(phone)).chatId}`, change)
    await patch(ada, { status: 'closed', assignee: 'Mara' })
    await patch(bob, { unreadMessages: 0 })
    await patch(cleo, { assignee: 'Mara' })

    expect(await phonesOf(company, 'status=open')).toEqual([dan, cleo, bob])
    expect(await phonesOf(company, 'status=closed')).toEqual([ada])
    expect(await phonesOf(company, 'unread=true')).toEqual([dan, cleo, ada])
    expect(await phonesOf(company, 'unread=false')).toEqual([dan, cleo, bob, ada])
    expect(await phonesOf(company, `channelId=${second.body.channelId}`)).toEqual([dan])
    expect(await phonesOf(company, 'assignee=Mara')).toEqual([cleo, ada])
    expect(await phonesOf(company, 'assignee=Mara&status=open&unread=true')).toEqual([cleo])
    await provider.messages(company.phoneNumberId, textFrom(ada, 'Again'))
    expect(await phonesOf(company, 'assignee=Mara&status=open')).toEqual([ada, cleo])
    const { chatId } = await inbox.find(ada)
    await company.api('POST', `${LIST}/${chatId}/messages`, { type: 'text', text: 'Yes' })
    expect(await phonesOf(company, 'unread=true')).toEqual([dan, cleo])
  })

  test('is not counted, and says whether another page follows', async () => {
    const company = await service.createCompany()
    const phones = Array.from({ length: 5 }, uniquePhone)
    for (const phone of phones) await provider.messages(company.phoneNumberId, textFrom(phone, 'Hello'))
    const pages = [await read(company, 'status=open&pageSize=3'), await read(company, 'status=open&pageSize=3&page=2')]
    expect(pages.map(({ pagination }) => pagination)).toMatchObject([
      { totalRecords: null, currentPage: 1, totalPages: null, nextPage: 2, prevPage: null },
      { totalRecords: null, currentPage: 2, totalPages: null, nextPage: null, prevPage: 1 },
    ])
    const [last] = pages[0].data.slice(-1)
    const behind = await read(company, `status=open&before=${last.chatId}&pageSize=3`)
    expect(behind.data).toEqual(pages[1].data)
    expect(behind.pagination).toMatchObject({ totalRecords: null, nextPage: null })
    expect((await read(company, `status=open&after=${last.chatId}`)).data).toEqual(pages[0].data.slice(0, 2))
    const tooFar = await company.api('GET', `${LIST}?status=open&pageSize=100&page=101`)
    expect([tooFar.status, tooFar.body.error.details.fields[0].path]).toEqual([422, 'page'])
    expect((await read(company, 'pageSize=3')).pagination.totalRecords).toBe(5)
  })

  test('finds contacts by a part of name, email or phone, whether few or many match', async () => {
    const company = await service.createCompany()
    const [ada, bob] = [uniquePhone(), uniquePhone()]
    for (const phone of [ada, bob]) await provider.messages(company.phoneNumberId, textFrom(phone, 'Hello'))
    const { contact } = await inboxOf(company).find(ada)
    await company.api('PUT', `/contacts/${contact.id}`, {
      firstName: 'Ada',
      lastName: 'Lövelace',
      email: 'ada@example.com',
    })
    for (const search of ['lövelace', 'ADA L', 'ada@example', ada.slice(2, 9), 'a@', 'ü']) {
      expect([search, await phonesOf(company, `search=${encodeURIComponent(search)}`)]).toEqual([
        search,
        search === 'ü' ? [] : [ada],
      ])
    }
    expect(await phonesOf(company, 'search=lace&status=closed')).toEqual([])
    expect(await phonesOf(company, 'search=%20')).toHaveLength(2)
    // Every contact matches: more than a list of ids would hold.
    await service.db`
      insert into contacts (company_id, first_name, source, source_type, search_text)
      select ${company.companyId}, 'Ada', 'x', 'x', 'ada' from generate_series(1, 3000)
    `
    expect(await phonesOf(company, 'search=ada&unread=true')).toEqual([ada])
  })

  test('finds a customer by the profile name that the list shows, in any script, with and without accents', async () => {
    const company = await service.createCompany()
    const { find } = inboxOf(company)
    const names = ['Marta Rossi', 'José Muñoz', 'Анна Петрова', '王小明', 'محمد علي', '𝓙𝓾𝓵𝓲𝓪']
    const phones = new Map(names.map((name) => [name, uniquePhone()]))
    for (const [name, phone] of phones) await provider.named(company.phoneNumberId, name, textFrom(phone, 'Hello'))
    expect((await find(phones.get('Marta Rossi')!)).contact.name).toBe('Marta Rossi')
    const searches: [string, string[]][] = [
      ['Marta', ['Marta Rossi']],
      ['rossi', ['Marta Rossi']],
      ['josé muñoz', ['José Muñoz']],
      ['MUNOZ', ['José Muñoz']],
      ['анна', ['Анна Петрова']],
      ['小明', ['王小明']],
      ['明', ['王小明']],
      ['محمد', ['محمد علي']],
      ['Julia', ['𝓙𝓾𝓵𝓲𝓪']],
      ['z', ['José Muñoz']],
      ['ma', ['Marta Rossi']],
      ['Mártá', ['Marta Rossi']],
      ['Nobody', []],
    ]
    for (const [search, found] of searches) {
      const shown = await phonesOf(company, `search=${encodeURIComponent(search)}`)
      expect([search, shown]).toEqual([search, found.map((name) => phones.get(name))])
    }
    const other = await service.createCompany()
    expect(await phonesOf(other, 'search=Marta')).toEqual([])
    const { contact } = await find(phones.get('Marta Rossi')!)
    await company.api('DELETE', `/contacts/${contact.id}?erase=true`)
    await eventually(async () => (await phonesOf(company, 'search=Marta')).length === 0)
  })

  test('shows the status of the last message', async () => {
    const company = await service.createCompany()
    const { find, messages } = inboxOf(company)
    const phone = uniquePhone()
    await provider.messages(company.phoneNumberId, textFrom(phone, 'Hello'))
    const { chatId, lastMessage } = await find(phone)
    expect(lastMessage).toMatchObject({ direction: 'inbound', status: 'received' })
    await company.api('POST', `${LIST}/${chatId}/messages`, { type: 'text', text: 'Yes' })
    const [{ wamid }] = await messages(chatId)
    await provider.statuses(company.phoneNumberId, { id: wamid, status: 'read', timestamp: '1', recipient_id: phone })
    expect((await find(phone)).lastMessage).toMatchObject({ direction: 'outbound', status: 'read' })
  })

  test.each([
    ['status=new', 'status'],
    ['unread=maybe', 'unread'],
    ['channelId=x', 'channelId'],
    [`assignee=${'x'.repeat(101)}`, 'assignee'],
    [`search=${'x'.repeat(201)}`, 'search'],
    ['channelId=1e300', 'channelId'],
    ['status=open&before=987654321', 'before'],
  ])('refuses %s', async (query, path) => {
    const company = await service.createCompany({ isConnected: false })
    const { status, body } = await company.api('GET', `${LIST}?${query}`)
    expect([400, 422]).toContain(status)
    expect(body.error.details.fields.map((field: { path: string }) => field.path)).toEqual([path])
  })

  test('shows nothing of another company', async () => {
    const [mine, other] = [await service.createCompany(), await service.createCompany()]
    const phone = uniquePhone()
    await provider.messages(other.phoneNumberId, textFrom(phone, 'Hello'))
    const [{ chatId }] = await inboxOf(other).list()
    await other.api('PATCH', `${LIST}/${chatId}`, { assignee: 'Mara' })
    for (const query of [`channelId=${other.sender.channelId}`, 'assignee=Mara', `search=${phone}`, 'status=open']) {
      expect([query, await phonesOf(mine, query)]).toEqual([query, []])
    }
    expect((await mine.api('GET', `${LIST}?status=open&before=${chatId}`)).status).toBe(422)
  })
})
