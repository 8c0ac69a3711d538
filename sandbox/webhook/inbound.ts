import { epochSeconds } from '../clock.ts'
import { digitsOf } from '../phone.ts'
import type { PhoneNumber } from '../world/account.ts'
import type { IdMaker } from '../world/id-maker.ts'
import { PHONE_MIME_TYPE, sampleOf } from '../world/sample-media.ts'
import type { World } from '../world/world.ts'
import { type Change, numberChange } from './envelope.ts'

/** A message of a customer, or for an echo of the business's own phone; further members go out as they are. */
export type Written = {
  type: string
  from?: string | undefined
  to?: string | undefined
  userId?: string | undefined
  name?: string | null | undefined
  username?: string | undefined
  id?: string | undefined
  timestamp?: string | number | undefined
  [member: string]: unknown
}
export type Item = { number: PhoneNumber; written: Written }
export type PhoneDeps = { world: World; ids: IdMaker }

/** The changes of one webhook body in which these customers' messages come, and the messages' ids in order. */
export function inboundChanges(deps: PhoneDeps, items: Item[], at: Date): { changes: Change[]; wamids: string[] } {
  const wamids: string[] = []
  const messages = items.map(({ number, written }) => {
    const message = inboundMessage(deps, number, written, at)
    wamids.push(message.id)
    return { number, written, message }
  })
  const changes = [...Map.groupBy(messages, ({ number }) => number)].map(([number, its]) =>
    numberChange(number, 'messages', {
      ...contactsOf(its.map(({ written }) => written)),
      messages: its.map(({ message }) => message),
    }),
  )
  return { changes, wamids }
}

function inboundMessage(deps: PhoneDeps, number: PhoneNumber, written: Written, at: Date) {
  const { from, userId, name: _name, username: _username, to: _to, ...rest } = written
  return {
    ...(from !== undefined && { from: phoneOf(from) }),
    ...(userId !== undefined && { from_user_id: userId }),
    ...body(deps, number, rest, at),
  }
}

/** The change in which a message comes that was written in the business's own phone app. */
export function echoChange(deps: PhoneDeps, { number, written }: Item, at: Date): { change: Change; wamid: string } {
  const { from, to, userId, name: _name, username: _username, ...rest } = written
  const echo = {
    from: from ?? digitsOf(number.displayPhoneNumber),
    ...(to !== undefined && { to: phoneOf(to) }),
    ...(userId !== undefined && { to_user_id: userId }),
    ...body(deps, number, rest, at),
  }
  return { change: numberChange(number, 'smb_message_echoes', { message_echoes: [echo] }), wamid: echo.id }
}

function body({ world, ids }: PhoneDeps, number: PhoneNumber, written: Written, at: Date) {
  const { id, timestamp, type, ...content } = written
  return {
    id: id ?? ids.wamid(),
    timestamp: timestamp === undefined ? epochSeconds(at) : String(timestamp),
    type,
    ...content,
    ...mediaMember(world, ids, number, type, content[type]),
  }
}

/** A media message without an id gets a real small file that can be downloaded. */
function mediaMember(world: World, ids: IdMaker, number: PhoneNumber, type: string, content: unknown) {
  const usualType = PHONE_MIME_TYPE[type]
  if (usualType === undefined) return {}
  const members: Record<string, unknown> = typeof content === 'object' && content !== null ? { ...content } : {}
  if (members.id !== undefined) return {}
  const mimeType = typeof members.mime_type === 'string' ? members.mime_type : usualType
  const sample = sampleOf(mimeType)
  const media = { id: ids.number(), phoneNumberId: number.id, mimeType, ...sample }
  world.media.add(media)
  return {
    [type]: { ...HABITS[type], ...members, id: media.id, mime_type: mimeType, sha256: sample.sha256 },
  }
}

/** The provider's default members of media of a kind. */
const HABITS: Record<string, Record<string, unknown>> = { audio: { voice: false }, sticker: { animated: false } }

/** The senders of a batch, each once; a system message usually comes without. */
function contactsOf(written: Written[]): { contacts?: Record<string, unknown>[] } {
  const contacts = new Map<string, Record<string, unknown>>()
  for (const { type, from, userId, name, username } of written) {
    if (type === 'system') continue
    const profile = { ...(name != null && { name }), ...(username !== undefined && { username }) }
    contacts.set(userId ?? from ?? '', {
      ...(Object.keys(profile).length > 0 && { profile }),
      ...(from !== undefined && { wa_id: phoneOf(from) }),
      ...(userId !== undefined && { user_id: userId }),
    })
  }
  return contacts.size === 0 ? {} : { contacts: [...contacts.values()] }
}

/** Digits, as the provider writes phones; anything that is no phone stays as it is. */
const phoneOf = (text: string): string => (/^[+0-9][0-9 .()-]*$/.test(text) ? digitsOf(text) : text)
