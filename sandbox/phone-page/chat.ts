import type { SendRequest } from '../graph/send-shape.ts'
import { waIdOf } from '../phone.ts'
import type { WrittenLine } from '../world/feed.ts'
import type { Accepted, World } from '../world/world.ts'
import { type Offers, offersOf } from './offers.ts'

/** A line of the chat as the phone shows it. */
export type ChatLine = Offers & {
  wamid: string
  phoneNumberId: string
  isMine: boolean
  header: string | null
  text: string
  footer: string | null
  /** The text of the message that it answers. */
  quoted: string | null
  /** Of the business. */
  reaction: string | null
  at: string
  /** Of a message from the business. */
  status: string | null
}

const LINES = 100

/** The chat of a customer with the businesses here, from the oldest line to the newest. */
export function linesOf(world: World, phone: string): ChatLine[] {
  const written = world.written.newest(LINES).filter(({ from }) => waIdOf(from) === waIdOf(phone))
  const received = world.messages
    .newest(LINES)
    .filter(({ to }) => waIdOf(to) === waIdOf(phone))
    .map((message) => ({ message, request: JSON.parse(message.body) as SendRequest }))
  const isReaction = ({ request }: { request: SendRequest }) => request.reaction !== undefined
  // The newest comes first, and the last reaction counts.
  const reactions = new Map(
    received
      .filter(isReaction)
      .reverse()
      .map(({ request: { reaction } }) => [reaction?.message_id, reaction?.emoji]),
  )
  const lines = [
    ...written.map(writtenLine),
    ...received.filter((one) => !isReaction(one)).map(({ message, request }) => receivedLine(world, message, request)),
  ]
  const textOfWamid = new Map(lines.map(({ wamid, text }) => [wamid, text]))
  return lines
    .sort((one, other) => one.at.getTime() - other.at.getTime())
    .slice(-LINES)
    .map(({ quotedWamid, ...line }) => ({
      ...line,
      at: line.at.toISOString(),
      quoted: textOfWamid.get(quotedWamid ?? '') ?? null,
      reaction: reactions.get(line.wamid) || null,
    }))
}

/** A line before the lines that it refers to are known. */
type OpenLine = Omit<ChatLine, 'at' | 'quoted' | 'reaction'> & { at: Date; quotedWamid: string | undefined }

const writtenLine = ({ wamid, phoneNumberId, text, quotedWamid, at }: WrittenLine): OpenLine => ({
  wamid,
  phoneNumberId,
  isMine: true,
  header: null,
  text,
  footer: null,
  quotedWamid,
  menu: null,
  offers: [],
  at,
  status: null,
})

const receivedLine = (world: World, message: Accepted, request: SendRequest): OpenLine => ({
  wamid: message.wamid,
  phoneNumberId: message.phoneNumberId,
  isMine: false,
  header: request.interactive?.header?.text ?? null,
  text: textOf(world, message.phoneNumberId, request),
  footer: request.interactive?.footer?.text ?? null,
  quotedWamid: request.context?.message_id,
  ...offersOf(world, message, request),
  at: message.at,
  status: world.statuses.get(message.wamid) ?? 'accepted',
})

function textOf(world: World, phoneNumberId: string, request: SendRequest & Record<string, unknown>): string {
  if (request.template !== undefined) return templateText(world, phoneNumberId, request.template)
  if (request.interactive?.body?.text) return request.interactive.body.text
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
