import type { SendRequest } from '../graph/send-shape.ts'
import { waIdOf } from '../phone.ts'
import type { Accepted, World } from '../world/world.ts'

/** A line of the chat as the phone shows it. */
export type ChatLine = {
  wamid: string
  phoneNumberId: string
  isMine: boolean
  text: string
  at: string
  /** Of a message from the business. */
  status: string | null
}

const LINES = 100

/** The chat of a customer with the businesses here, from the oldest line to the newest. */
export function linesOf(world: World, phone: string): ChatLine[] {
  const written = world.written
    .newest(LINES)
    .filter(({ from }) => waIdOf(from) === waIdOf(phone))
    .map(({ wamid, phoneNumberId, text, at }) => ({ wamid, phoneNumberId, isMine: true, text, at, status: null }))
  const received = world.messages
    .newest(LINES)
    .filter(({ to }) => waIdOf(to) === waIdOf(phone))
    .map((message) => ({
      wamid: message.wamid,
      phoneNumberId: message.phoneNumberId,
      isMine: false,
      text: textOf(world, message),
      at: message.at,
      status: world.statuses.get(message.wamid) ?? 'accepted',
    }))
  return [...written, ...received]
    .sort((one, other) => one.at.getTime() - other.at.getTime())
    .slice(-LINES)
    .map((line) => ({ ...line, at: line.at.toISOString() }))
}

function textOf(world: World, { body, phoneNumberId }: Accepted): string {
  const request: SendRequest & Record<string, unknown> = JSON.parse(body)
  if (request.template !== undefined) return templateText(world, phoneNumberId, request.template)
  if (request.interactive?.body?.text) return request.interactive.body.text
  if (request.reaction !== undefined) return request.reaction.emoji || '[reaction removed]'
  const content = Object(request[request.type ?? 'text'])
  return content.body ?? content.caption ?? content.name ?? `[${request.type}]`
}

/** The body of the template with its parameters in place. */
function templateText(world: World, phoneNumberId: string, template: NonNullable<SendRequest['template']>): string {
  const account = world.numbers.get(phoneNumberId)?.wabaAccountId ?? ''
  const record = world.templates.find(account, template.name, template.language.code)?.record
  const body = record?.components.find(({ type }) => type === 'BODY')?.text ?? `[${template.name}]`
  const sent = template.components?.find(({ type }) => type.toUpperCase() === 'BODY')
  const values = (sent?.parameters ?? []).map(Object)
  let next = 0
  return body.replace(/\{\{\s*(\w+)\s*\}\}/g, (whole, name) => {
    const named = values.find((value) => value.parameter_name === name)
    const value = named ?? values[next++]
    return typeof value?.text === 'string' ? value.text : whole
  })
}
