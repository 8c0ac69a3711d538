import type { Interactive, SendRequest } from '../graph/send-shape.ts'
import { digitsOf } from '../phone.ts'
import type { Accepted, World } from '../world/world.ts'

/** A choice below a message: an answer, which is posted as by the provider, or an address to open. */
export type Offer = { label: string; description: string | null; section: string | null } & (
  | { answer: Record<string, unknown> }
  | { url: string }
)
/** `menu`: the text of the button that opens the offers; null: they are shown at once. */
export type Offers = { menu: string | null; offers: Offer[] }

/** The place that the customer of the phone shares. */
const PLACE = { latitude: 41.9028, longitude: 12.4964, name: 'Via del Corso 12', address: 'Via del Corso 12, Roma' }

/** The offers of a message of the business; an answer names the message. */
export function offersOf(world: World, message: Accepted, request: SendRequest): Offers {
  const number = world.numbers.get(message.phoneNumberId)
  const context = { from: digitsOf(number?.displayPhoneNumber ?? ''), id: message.wamid }
  const { menu, offers } = readOffers(world, number?.wabaAccountId ?? '', message, request)
  return { menu, offers: offers.map((one) => ('answer' in one ? { ...one, answer: { ...one.answer, context } } : one)) }
}

function readOffers(world: World, account: string, { to }: Accepted, { interactive, template }: SendRequest): Offers {
  if (interactive !== undefined) return interactiveOffers(interactive, digitsOf(to))
  if (template === undefined) return NONE
  const components = world.templates.find(account, template.name, template.language.code)?.record.components ?? []
  const buttons = components.flatMap((component) => component.buttons ?? [])
  return { menu: null, offers: buttons.flatMap((button, place) => templateOffer(button, valueAt(template, place))) }
}

const NONE: Offers = { menu: null, offers: [] }

function interactiveOffers({ type, action = {} }: Interactive, phone: string): Offers {
  const { parameters = {} } = action
  switch (type) {
    case 'button': {
      const replies = (action.buttons ?? []).map(({ reply = {} }) => reply)
      return { menu: null, offers: replies.map((reply) => answer(reply.title, choice('button_reply', reply))) }
    }
    case 'list':
      return { menu: action.button ?? '', offers: (action.sections ?? []).flatMap(rowsOf) }
    case 'cta_url':
      return { menu: null, offers: [open(parameters.display_text, parameters.url)] }
    case 'flow': {
      const response_json = JSON.stringify({ flow_token: parameters.flow_token ?? 'unused', answer: 'Yes' })
      const reply = choice('nfm_reply', { name: 'flow', body: 'Sent', response_json })
      return { menu: null, offers: [answer(parameters.flow_cta, reply)] }
    }
    case 'location_request_message':
      return { menu: null, offers: [answer('Send location', { type: 'location', location: PLACE })] }
    case 'request_contact_info': {
      const card = { origin: 'contact_request', phones: [{ phone: `+${phone}`, wa_id: phone, type: 'MOBILE' }] }
      return { menu: null, offers: [answer('Share phone number', { type: 'contacts', contacts: [card] })] }
    }
    default:
      return NONE
  }
}

type Section = NonNullable<NonNullable<Interactive['action']>['sections']>[number]

const rowsOf = ({ title = '', rows = [] }: Section): Offer[] =>
  rows.map((row) => ({
    ...answer(row.title, choice('list_reply', row)),
    description: row.description ?? null,
    section: title || null,
  }))

const choice = (type: string, value: object) => ({ type: 'interactive', interactive: { type, [type]: value } })

const answer = (label = '', content: Record<string, unknown>): Offer => ({
  label,
  description: null,
  section: null,
  answer: content,
})

const open = (label = '', url = ''): Offer => ({ label, description: null, section: null, url })

/** The value that a send fills in for a button of its template. */
function valueAt({ components = [] }: NonNullable<SendRequest['template']>, place: number): string | undefined {
  const sent = components.find(({ type, index }) => type.toLowerCase() === 'button' && Number(index) === place)
  const { payload, text } = Object(sent?.parameters?.[0]) as { payload?: string; text?: string }
  return payload ?? text
}

function templateOffer(
  { type, text = '', url }: { type: string; text?: string; url?: string },
  value?: string,
): Offer[] {
  if (type === 'QUICK_REPLY') return [answer(text, { type: 'button', button: { text, payload: value ?? text } })]
  return type === 'URL' && url !== undefined ? [open(text, url.replace(/\{\{\s*\w+\s*\}\}/, value ?? ''))] : []
}
