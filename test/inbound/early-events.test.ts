import { describe, expect, test } from 'vitest'
import type { Db } from '../../src/db/connect.ts'
import { untilBlocked } from '../held-locks.ts'
import { bodyOf, changeOf, newWamid, secondsNow, textFrom } from '../provider-webhook.ts'
import { eventually, uniquePhone } from '../service.ts'
import { messageFrom, record } from '../world.ts'
import { startInbound } from './inbound-world.ts'

// Statuses, edits, revokes and aliases that arrive before their message, or while it commits.
const { service, company, provider, inbox, sendTo } = await startInbound()
const { db } = service
const { companyId, phoneNumberId } = company
const senderId: number = company.sender.channelId

const statusOf = (wamid: string, status: string, more: object = {}) => ({
  ...{ id: wamid, status, timestamp: String(secondsNow()), recipient_id: uniquePhone() },
  ...more,
})
const echoTo = (to: string, more: object = {}) => {
  const { from: _, ...echo } = textFrom('1', 'From the phone', { to, ...more })
  return echo
}
const statusOfMessage = async (messageId: number): Promise<string> => {
  const [row] = await db<{ status: string }[]>`
    select status from messages where (company_id, id) = (${companyId}::bigint, ${messageId}::bigint)
  `
  return row!.status
}
const waiting = (wamid: string) =>
  db`select look_at from waiting_statuses where company_id = ${companyId} and wamid = ${wamid}`
/** As if the answer to the send were still on its way to the database. */
const forgetWamid = (messageId: number) =>
  db`update messages set wamid = null where (company_id, id) = (${companyId}::bigint, ${messageId}::bigint)`
const nameMessage = (messageId: number, wamid: string) =>
  db`update messages set wamid = ${wamid} where (company_id, id) = (${companyId}::bigint, ${messageId}::bigint)`

/** Runs work in a transaction that stays open until the result is called, which commits it. */
async function holdUncommitted(work: (tx: Db) => Promise<unknown>): Promise<() => Promise<void>> {
  const [done, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const running = db.begin(async (tx) => {
    await work(tx)
    done.resolve()
    await released.promise
  })
  await done.promise
  return async () => {
    released.resolve()
    await running
  }
}

describe('a status before its message', () => {
  test('waits for the echo, also for hours, and counts in usage and for receivers', async () => {
    const to = uniquePhone()
    const echo = echoTo(to)
    const read = statusOf(echo.id, 'read', { recipient_id: to, pricing: { type: 'regular', category: 'utility' } })
    const registration = { name: 'CRM', url: 'https://receiver.invalid/hook', events: ['whatsapp.message.status'] }
    expect((await company.api('POST', '/webhooks/registrations', registration)).status).toBe(201)
    await provider.statuses(phoneNumberId, read)
    await db`
      update waiting_statuses set created_at = now() - interval '5 hours', look_at = now() + interval '5 hours'
      where company_id = ${companyId}
    `
    await provider.echoes(phoneNumberId, echo)
    const [shown] = await inbox.messages((await inbox.find(to)).chatId)
    expect(shown).toMatchObject({ wamid: echo.id, status: 'read' })
    expect(await waiting(echo.id)).toEqual([])
    const day = new Date().toISOString().slice(0, 10)
    const { body } = await company.api('GET', `/whatsapp/usage?from=${day}&to=${day}`)
    expect(body.data).toMatchObject([{ sent: 1, delivered: 1, read: 1, billable: 1 }])
    const events = await db<{ body: string }[]>`
      select body from envelopes
      where company_id = ${companyId} and event = 'whatsapp.message.status'
    `
    expect(events.map((event) => JSON.parse(event.body).data.status).toSorted()).toEqual(['delivered', 'read', 'sent'])
  })

  test('in the same body as the echo, before it, is applied', async () => {
    const to = uniquePhone()
    const echo = echoTo(to)
    await provider.report(
      bodyOf(
        changeOf(phoneNumberId, { statuses: [statusOf(echo.id, 'delivered')] }),
        changeOf(phoneNumberId, { message_echoes: [echo] }, 'smb_message_echoes'),
      ),
    )
    expect(await inbox.messages((await inbox.find(to)).chatId)).toMatchObject([{ status: 'delivered' }])
  })

  test('waits for the answer to a send by its wamid', async () => {
    const { messageId, wamid } = await sendTo(uniquePhone())
    await forgetWamid(messageId)
    await provider.statuses(phoneNumberId, statusOf(wamid, 'delivered'), statusOf(wamid, 'read'))
    expect(await statusOfMessage(messageId)).toBe('sent')
    await nameMessage(messageId, wamid)
    await eventually(async () => (await statusOfMessage(messageId)) === 'read')
    expect(await waiting(wamid)).toEqual([])
  })

  test('is looked up again once it has waited twice as long', async () => {
    const wamid = newWamid()
    await provider.statuses(phoneNumberId, statusOf(wamid, 'read'))
    await db`
      update waiting_statuses set created_at = now() - interval '1 hour', look_at = now() where wamid = ${wamid}
    `
    await eventually(async () => {
      const [row] = await db<{ minutes: number }[]>`
        select (extract(epoch from look_at - now()) / 60)::float8 as minutes from waiting_statuses where wamid = ${wamid}
      `
      return row!.minutes > 55 && row!.minutes < 65
    })
  })

  test('that fails holds up no other, and is looked up again later', async () => {
    const [bad, good] = [await sendTo(uniquePhone()), await sendTo(uniquePhone())]
    for (const { messageId } of [bad, good]) await forgetWamid(messageId)
    await provider.statuses(phoneNumberId, statusOf(bad.wamid, 'read'), statusOf(good.wamid, 'read'))
    await db`
      update waiting_statuses set pricing = '{"billable": "neither"}', created_at = now() - interval '1 hour'
      where wamid = ${bad.wamid}
    `
    for (const { messageId, wamid } of [bad, good]) await nameMessage(messageId, wamid)
    await db`update waiting_statuses set look_at = now() where wamid in (${bad.wamid}, ${good.wamid})`
    await eventually(async () => (await statusOfMessage(good.messageId)) === 'read')
    await eventually(async () => {
      const [row] = await db<{ isLater: boolean }[]>`
        select look_at > now() + interval '50 minutes' as is_later from waiting_statuses where wamid = ${bad.wamid}
      `
      return row!.isLater
    })
    await db`delete from waiting_statuses where wamid = ${bad.wamid}`
  })

  test('is found when the message is named while the statuses of its body wait for a lock', async () => {
    const [early, other] = [await sendTo(uniquePhone()), await sendTo(uniquePhone())]
    await forgetWamid(early.messageId)
    const release = await holdUncommitted(
      (tx) => tx`select from messages where (company_id, id) = (${companyId}, ${other.messageId}) for update`,
    )
    const reported = provider.statuses(phoneNumberId, statusOf(other.wamid, 'read'), statusOf(early.wamid, 'read'))
    await untilBlocked(db)
    await nameMessage(early.messageId, early.wamid)
    await release()
    await reported
    await eventually(async () => (await statusOfMessage(early.messageId)) === 'read')
    expect(await statusOfMessage(other.messageId)).toBe('read')
  })

  test('is found when its echo commits at the same time', async () => {
    const to = uniquePhone()
    const wamid = newWamid()
    const echo = { ...messageFrom(companyId, senderId, to), kind: 'echo' as const, wamid, opensWindow: false }
    const commit = await holdUncommitted((tx) => record(tx, [echo], new Date()))
    await provider.statuses(phoneNumberId, statusOf(wamid, 'read'))
    expect(await waiting(wamid)).toHaveLength(1)
    await commit()
    await eventually(async () => (await waiting(wamid)).length === 0)
    expect(await inbox.messages((await inbox.find(to)).chatId)).toMatchObject([{ status: 'read' }])
  })
})

describe('an edit or revoke before its message', () => {
  const editOf = (from: string, target: string, body: string) => ({
    ...textFrom(from, ''),
    ...{ type: 'edit', text: undefined },
    edit: { original_message_id: target, message: { type: 'text', text: { body } } },
  })

  test('is applied when its message commits at the same time', async () => {
    const from = uniquePhone()
    const wamid = newWamid()
    const message = { ...messageFrom(companyId, senderId, from), wamid }
    const commit = await holdUncommitted((tx) => record(tx, [message], new Date()))
    const edited = provider.messages(phoneNumberId, editOf(from, wamid, 'Corrected'))
    await untilBlocked(db)
    await commit()
    await edited
    await eventually(async () => {
      const [shown] = await inbox.messages((await inbox.find(from)).chatId)
      return shown.text === 'Corrected'
    })
  })

  test('of a sent message is applied once the message has its wamid', async () => {
    const to = uniquePhone()
    const { chatId, messageId, wamid } = await sendTo(to)
    await forgetWamid(messageId)
    const revoke = { ...echoTo(to), type: 'revoke', text: undefined, revoke: { original_message_id: wamid } }
    await provider.echoes(phoneNumberId, revoke)
    await nameMessage(messageId, wamid)
    await eventually(async () => {
      const shown = (await inbox.messages(chatId)).find(({ id }) => id === messageId)
      return shown.text === '[revoked]'
    })
  })

  test('that fails holds up no other', async () => {
    const recipients = [uniquePhone(), uniquePhone()]
    const sent = await Promise.all(recipients.map(async (recipient) => ({ recipient, ...(await sendTo(recipient)) })))
    const [bad, good] = sent.map(({ messageId }) => messageId) as [number, number]
    for (const { messageId } of sent) await forgetWamid(messageId)
    for (const { wamid, recipient } of sent) {
      await provider.echoes(phoneNumberId, {
        ...echoTo(recipient),
        ...{ type: 'revoke', text: undefined, revoke: { original_message_id: wamid } },
      })
    }
    await db.unsafe(`
      create function refuse_revoke() returns trigger language plpgsql as $$
      begin
        raise exception 'refused' using errcode = '22001';
      end $$;
      create trigger refuse_revoke before update on messages
        for each row when (old.id = ${bad} and new.text = '[revoked]') execute function refuse_revoke()
    `)
    for (const { messageId, wamid } of sent) await nameMessage(messageId, wamid)
    const wamids = sent.map(({ wamid }) => wamid)
    await db`update message_changes set look_at = now() where target_wamid = any(${wamids}::text[])`
    const textOf = async (id: number) => (await db`select text from messages where id = ${id}`)[0]!.text
    await eventually(async () => (await textOf(good)) === '[revoked]')
    await db.unsafe('drop trigger refuse_revoke on messages; drop function refuse_revoke')
    await db`update message_changes set look_at = now() where target_wamid = any(${wamids}::text[])`
    await eventually(async () => (await textOf(bad)) === '[revoked]')
  })

  test('is looked up for a day, and then only by its message', async () => {
    const target = newWamid()
    await provider.messages(phoneNumberId, editOf(uniquePhone(), target, 'Corrected'))
    await db`
      update message_changes set created_at = now() - interval '25 hours', look_at = now() where target_wamid = ${target}
    `
    await eventually(async () => {
      const [change] = await db<
        { lookAt: Date | null }[]
      >`select look_at from message_changes where target_wamid = ${target}`
      return change!.lookAt === null
    })
  })
})

describe('the user id of a recipient', () => {
  const userId = () => `IT.${uniquePhone()}`
  /** Whether a message of the user id alone continues the conversation. */
  const continues = async (user: string, chatId: number) => {
    const { from: _, ...message } = textFrom('1', 'It is me', { from_user_id: user })
    await provider.messages(phoneNumberId, message)
    return (await inbox.messages(chatId)).some(({ text }) => text === 'It is me')
  }

  test('is learnt from a status that names our message id before the wamid is known', async () => {
    const { chatId, messageId, wamid } = await sendTo(uniquePhone())
    await forgetWamid(messageId)
    const user = userId()
    const named = { recipient_id: undefined, recipient_user_id: user, biz_opaque_callback_data: String(messageId) }
    await provider.statuses(phoneNumberId, statusOf(wamid, 'sent', named))
    expect(await continues(user, chatId)).toBe(true)
  })

  test('is learnt from a status that waited for its message', async () => {
    const { chatId, messageId, wamid } = await sendTo(uniquePhone())
    await forgetWamid(messageId)
    const user = userId()
    await provider.statuses(
      phoneNumberId,
      statusOf(wamid, 'sent', { recipient_id: undefined, recipient_user_id: user }),
    )
    await nameMessage(messageId, wamid)
    await eventually(async () => (await waiting(wamid)).length === 0)
    expect(await continues(user, chatId)).toBe(true)
  })
})
