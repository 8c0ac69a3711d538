import type { World } from '../../world/world.ts'
import type { Refusal } from '../graph-error.ts'
import type { Interactive, MediaReference, SendRequest } from '../send-shape.ts'

/** The provider's limits, in characters or items. */
const LIMITS = {
  button: 20,
  flowButton: 30,
  buttonId: 256,
  row: 24,
  rowId: 200,
  description: 72,
  section: 24,
  header: 60,
  footer: 60,
}
const [BODY, LIST_BODY] = [1_024, 4_096]
const [BUTTONS, ROWS, SECTIONS, CARDS] = [3, 10, 10, 257]

/** The faults for which the provider refuses the content of a message, beyond its shape. */
export function contentRefusal(world: World, phoneNumberId: string, request: SendRequest): Refusal | undefined {
  const { interactive, location, contacts } = request
  const fault =
    (interactive && interactiveFault(interactive)) ?? (location && locationFault(location)) ?? contactsFault(contacts)
  if (fault !== undefined) return { code: 131009, details: fault }
  return mediaRefusal(world, phoneNumberId, request)
}

/** A media id serves the number that uploaded the file. */
function mediaRefusal(world: World, phoneNumberId: string, request: SendRequest): Refusal | undefined {
  const { image, video, audio, document, sticker, interactive: { header } = {} } = request
  const files: (MediaReference | undefined)[] = [image, video, audio, document, sticker]
  const id = [...files, header?.image, header?.video, header?.document].find((file) => file !== undefined)?.id
  if (id === undefined || world.media.find(id)?.phoneNumberId === phoneNumberId) return undefined
  return { code: 100, details: `Media ${id} does not exist or belongs to another phone number` }
}

function interactiveFault(interactive: Interactive): string | undefined {
  const { type, header, body, footer, action = {} } = interactive
  const longestBody = type === 'list' ? LIST_BODY : BODY
  if (type !== 'product' && !body?.text) return 'interactive.body.text is required'
  if ((body?.text ?? '').length > longestBody) return `The body is over ${longestBody} characters`
  if ((header?.text ?? '').length > LIMITS.header) return `The header is over ${LIMITS.header} characters`
  if ((footer?.text ?? '').length > LIMITS.footer) return `The footer is over ${LIMITS.footer} characters`
  switch (type) {
    case 'button':
      return buttonsFault(action.buttons ?? [])
    case 'list':
      return listFault(action)
    case 'cta_url':
      return captionFault(action.parameters?.display_text) ?? urlFault(action.parameters?.url)
    case 'flow':
      return flowFault(action.parameters ?? {})
    case 'location_request_message':
      return action.name === 'send_location' ? undefined : 'interactive.action.name must be send_location'
    case 'request_contact_info':
      return action.name === type ? undefined : `interactive.action.name must be ${type}`
    default:
      return undefined
  }
}

type Action = NonNullable<Interactive['action']>

function buttonsFault(buttons: NonNullable<Action['buttons']>): string | undefined {
  const replies = buttons.map(({ reply }) => reply ?? {})
  if (buttons.length === 0) return 'interactive.action.buttons must have at least 1 item'
  if (buttons.length > BUTTONS) return `interactive.action.buttons must have at most ${BUTTONS} items`
  if (replies.some(({ title = '' }) => title === '')) return 'A button has no title'
  if (replies.some(({ title = '' }) => title.length > LIMITS.button))
    return `A button title is over ${LIMITS.button} characters`
  if (replies.some(({ id = '' }) => id.length > LIMITS.buttonId))
    return `A button id is over ${LIMITS.buttonId} characters`
  if (areRepeated(replies.map(({ id }) => id))) return 'Two buttons have the same id'
  return areRepeated(replies.map(({ title }) => title)) ? 'Two buttons have the same title' : undefined
}

function listFault({ button, sections = [] }: Action): string | undefined {
  const rows = sections.flatMap((section) => section.rows ?? [])
  if (sections.length > SECTIONS) return `interactive.action.sections must have at most ${SECTIONS} items`
  if (rows.length === 0) return 'interactive.action.sections must have at least 1 row'
  if (rows.length > ROWS) return `interactive.action.sections must have at most ${ROWS} rows in all`
  if (rows.some(({ title = '' }) => title.length > LIMITS.row)) return `A row title is over ${LIMITS.row} characters`
  if (rows.some(({ id }) => String(id).length > LIMITS.rowId)) return `A row id is over ${LIMITS.rowId} characters`
  if (rows.some(({ description = '' }) => description.length > LIMITS.description))
    return `A row description is over ${LIMITS.description} characters`
  if (areRepeated(rows.map(({ id }) => id))) return 'Two rows have the same id'
  if (sections.length > 1 && sections.some(({ title }) => !title)) return 'Each of several sections needs a title'
  if (sections.some(({ title = '' }) => title.length > LIMITS.section))
    return `A section title is over ${LIMITS.section} characters`
  return captionFault(button)
}

const flowFault = (flow: NonNullable<Action['parameters']>): string | undefined =>
  (flow.flow_id === undefined) === (flow.flow_name === undefined)
    ? 'Exactly one of flow_id and flow_name is required'
    : captionFault(flow.flow_cta, LIMITS.flowButton)

/** The text of a button that opens something. */
function captionFault(caption: string | undefined, limit = LIMITS.button): string | undefined {
  if (!caption) return 'The button has no text'
  return caption.length > limit ? `The text of the button is over ${limit} characters` : undefined
}

const urlFault = (url: string | undefined): string | undefined =>
  /^https?:\/\//i.test(url ?? '') ? undefined : 'The url of the button is not valid'

function locationFault({ latitude, longitude }: NonNullable<SendRequest['location']>): string | undefined {
  if (!isWithin(latitude, 90)) return 'latitude is not valid'
  return isWithin(longitude, 180) ? undefined : 'longitude is not valid'
}

const isWithin = (degrees: unknown, limit: number): boolean =>
  degrees !== '' && Math.abs(Number(degrees ?? Number.NaN)) <= limit

function contactsFault(contacts: SendRequest['contacts'] = []): string | undefined {
  if (contacts.length > CARDS) return `contacts must have at most ${CARDS} items`
  if (contacts.some(({ name }) => !name?.formatted_name)) return 'A contact has no name.formatted_name'
  return contacts.some(({ name = {} }) => Object.keys(name).length < 2)
    ? 'A contact needs another part of the name than formatted_name'
    : undefined
}

const areRepeated = (values: readonly unknown[]): boolean => {
  const present = values.filter((value) => value !== undefined)
  return new Set(present).size < present.length
}
