import { describe, expect, test } from 'vitest'
import { bodyOf, changeOf, inboxOf, newWamid, textFrom } from '../provider-webhook.ts'
import { uniquePhone } from '../service.ts'
import { startInbound } from './inbound-world.ts'

const { service, company, provider, inbox } = await startInbound({ mirrors: true })

const inGroup = (groupId: string, from: string, body: string, more: object = {}) =>
  textFrom(from, body, { group_id: groupId, ...more })
const findGroup = async (groupId: string, owner = company) =>
  (await inboxOf(owner).list()).filter((conversation) => conversation.groupId === groupId)
const textsOf = async (chatId: number) => (await inbox.messages(chatId)).map(({ text }) => text).reverse()

describe('a message in a group', () => {
  test('enters the conversation of the group, never a private one', async () => {
    const [ada, bob, groupId] = [uniquePhone(), uniquePhone(), `G-${newWamid()}`]
    await provider.messages(
      company.phoneNumberId,
      textFrom(ada, 'private'),
      inGroup(groupId, ada, 'to all'),
      inGroup(groupId, bob, 'hello all'),
    )
    const [group, ...others] = await findGroup(groupId)
    expect(others).toEqual([])
    expect(group).toMatchObject({ groupId, contact: { phone: null, name: groupId }, unreadMessages: 2 })
    expect(await textsOf(group.chatId)).toEqual(['to all', 'hello all'])
    const conversation = await inbox.find(ada)
    expect(conversation.groupId).toBeNull()
    expect(await textsOf(conversation.chatId)).toEqual(['private'])
    expect(await inbox.find(bob)).toBeUndefined()
  })

  test('shows the writer’s phone and name in senderName', async () => {
    const [ada, groupId] = [uniquePhone(), `G-${newWamid()}`]
    const contacts = [{ wa_id: ada, profile: { name: 'Ada' } }]
    await provider.report(
      bodyOf(changeOf(company.phoneNumberId, { contacts, messages: [inGroup(groupId, ada, 'hi')] })),
    )
    await provider.messages(company.phoneNumberId, inGroup(groupId, ada, 'without a name'))
    const [group] = await findGroup(groupId)
    const messages = await inbox.messages(group.chatId)
    expect(messages.map(({ senderName }) => senderName).reverse()).toEqual([`Ada (+${ada})`, `+${ada}`])
  })

  test('opens no window for its writer, and may come from an unknown one', async () => {
    const [ada, groupId] = [uniquePhone(), `G-${newWamid()}`]
    await provider.messages(company.phoneNumberId, inGroup(groupId, ada, 'hi'))
    await provider.messages(company.phoneNumberId, { ...inGroup(groupId, '', 'hidden'), from: undefined })
    const send = await company.api('POST', '/templates/whatsapp/send', { recipient: ada, type: 'text', text: 'x' })
    expect(send.body.error.code).toBe('session_window_closed')
    const [group] = await findGroup(groupId)
    expect(await textsOf(group.chatId)).toEqual(['hi', 'hidden'])
  })

  test('has a conversation of its own for each sender number and company', async () => {
    const [ada, groupId] = [uniquePhone(), `G-${newWamid()}`]
    const other = await service.createCompany()
    const { phoneNumberId } = (await service.connectSender(company.companyId)).body
    for (const number of [company.phoneNumberId, phoneNumberId, other.phoneNumberId])
      await provider.messages(number, inGroup(groupId, ada, `to ${number}`))
    const own = await findGroup(groupId)
    expect(own).toHaveLength(2)
    expect(new Set(own.map(({ contact }) => contact.id)).size).toBe(1)
    expect(await findGroup(groupId, other)).toHaveLength(1)
  })

  test('moves no number, whatever user id it names', async () => {
    const [ada, groupId] = [uniquePhone(), `G-${newWamid()}`]
    const id = (name: string) => ({ from_user_id: `US.${ada}${name}` })
    await provider.messages(company.phoneNumberId, textFrom(ada, 'private', id('a')))
    await provider.messages(company.phoneNumberId, inGroup(groupId, ada, 'to all', id('b')))
    expect(await inbox.texts(ada)).toEqual(['private'])
  })
})
