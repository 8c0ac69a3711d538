import { type Static, type TProperties, Type } from 'typebox'
import type { FieldFault } from '../../platform/errors.ts'

/** Provider limits, in characters by default. */
export const INTERACTIVE_LIMITS = {
  bodyText: 1_024,
  listBodyText: 4_096,
  headerText: 60,
  footerText: 60,
  buttons: 3,
  buttonTitle: 20,
  buttonId: 256,
  sections: 10,
  rows: 10,
  sectionTitle: 24,
  rowTitle: 24,
  rowDescription: 72,
  rowId: 200,
  flowButton: 30,
} as const
/** Parley's own bounds. */
const LONGEST_ADDRESS = 2_048
const LONGEST_ID = 256
const LONGEST_TOKEN = 1_024
const LONGEST_MEDIA_ID = 64

const closed = <Members extends TProperties>(members: Members, more: object = {}) =>
  Type.Object(members, { additionalProperties: false, ...more })
const upTo = (maxLength: number, description?: string) =>
  Type.String({ minLength: 1, maxLength, ...(description !== undefined && { description }) })

const https = Type.String({ pattern: '^[hH][tT][tT][pP][sS]://', maxLength: LONGEST_ADDRESS })
const providerId = upTo(LONGEST_ID, 'Provider file id, uploaded to the sending number.')
const mediaId = upTo(LONGEST_MEDIA_ID, 'Media id from `uploadMedia`.')
const fileOf = (more: TProperties = {}) =>
  Type.Union([closed({ link: https, ...more }), closed({ id: providerId, ...more }), closed({ mediaId, ...more })])
const TextHeader = closed({ type: Type.Literal('text'), text: upTo(INTERACTIVE_LIMITS.headerText) })
const Header = Type.Union(
  [
    TextHeader,
    closed({ type: Type.Literal('image'), image: fileOf() }),
    closed({ type: Type.Literal('video'), video: fileOf() }),
    closed({ type: Type.Literal('document'), document: fileOf({ filename: Type.Optional(upTo(240)) }) }),
  ],
  { description: 'A line of text or a file above the body.' },
)
const bodyOf = (maxLength: number = INTERACTIVE_LIMITS.bodyText) => closed({ text: upTo(maxLength) })
const Footer = closed({ text: upTo(INTERACTIVE_LIMITS.footerText) })
const framed = { header: Type.Optional(Header), body: bodyOf(), footer: Type.Optional(Footer) }

export const REPLY_BUTTONS_EXAMPLE = {
  type: 'button' as const,
  body: { text: 'Is the size right?' },
  action: {
    buttons: [
      { type: 'reply' as const, reply: { id: 'yes', title: 'Yes' } },
      { type: 'reply' as const, reply: { id: 'no', title: 'No, change it' } },
    ],
  },
}

const ReplyButton = closed({
  type: Type.Literal('reply'),
  reply: closed({
    id: upTo(INTERACTIVE_LIMITS.buttonId, 'Comes back as `reply.id`.'),
    title: upTo(INTERACTIVE_LIMITS.buttonTitle),
  }),
})
const ReplyButtons = closed(
  {
    type: Type.Literal('button'),
    ...framed,
    action: closed({ buttons: Type.Array(ReplyButton, { minItems: 1, maxItems: INTERACTIVE_LIMITS.buttons }) }),
  },
  {
    example: REPLY_BUTTONS_EXAMPLE,
    title: 'ReplyButtons',
    description: 'Up to three buttons; the customer chooses one.',
  },
)

const Row = closed({
  id: upTo(INTERACTIVE_LIMITS.rowId, 'Comes back as `reply.id`.'),
  title: upTo(INTERACTIVE_LIMITS.rowTitle),
  description: Type.Optional(upTo(INTERACTIVE_LIMITS.rowDescription)),
})
const Section = closed({
  title: Type.Optional(upTo(INTERACTIVE_LIMITS.sectionTitle, 'Required if there are several sections.')),
  rows: Type.Array(Row, { minItems: 1, maxItems: INTERACTIVE_LIMITS.rows }),
})
const ListMenu = closed(
  {
    type: Type.Literal('list'),
    header: Type.Optional(TextHeader),
    body: bodyOf(INTERACTIVE_LIMITS.listBodyText),
    footer: Type.Optional(Footer),
    action: closed({
      button: upTo(INTERACTIVE_LIMITS.buttonTitle, 'Text of the button that opens the list.'),
      sections: Type.Array(Section, { minItems: 1, maxItems: INTERACTIVE_LIMITS.sections }),
    }),
  },
  {
    example: {
      type: 'list',
      body: { text: 'When shall we deliver?' },
      action: {
        button: 'Choose a day',
        sections: [
          {
            rows: [
              { id: 'mon', title: 'Monday', description: '9 to 12' },
              { id: 'tue', title: 'Tuesday' },
            ],
          },
        ],
      },
    },
    title: 'ListMenu',
    description: 'A list of up to ten rows in all; the customer chooses one.',
  },
)

const CallToAction = closed(
  {
    type: Type.Literal('cta_url'),
    ...framed,
    action: closed({
      name: Type.Literal('cta_url'),
      parameters: closed({
        display_text: upTo(INTERACTIVE_LIMITS.buttonTitle),
        url: Type.String({ pattern: '^[hH][tT][tT][pP][sS]?://', maxLength: LONGEST_ADDRESS }),
      }),
    }),
  },
  {
    example: {
      type: 'cta_url',
      body: { text: 'Your parcel is on its way.' },
      action: {
        name: 'cta_url',
        parameters: { display_text: 'Track it', url: 'https://shop.example.com/orders/1042' },
      },
    },
    title: 'CallToAction',
    description: 'A button that opens a URL.',
  },
)

/** Requests something from the customer: text above a provider button. */
const requestOf = <Kind extends string, Name extends string>(
  kind: Kind,
  name: Name,
  { text, ...more }: { text: string; title: string; description: string },
) =>
  closed(
    { type: Type.Literal(kind), body: bodyOf(), action: closed({ name: Type.Literal(name) }) },
    { example: { type: kind, body: { text }, action: { name } }, ...more },
  )

const LocationRequest = requestOf('location_request_message', 'send_location', {
  text: 'Where shall we deliver?',
  title: 'LocationRequest',
  description: 'Asks the customer for a location, which comes back as a message.',
})

const ContactRequest = requestOf('request_contact_info', 'request_contact_info', {
  text: 'Share your number, so that the driver can call.',
  title: 'ContactRequest',
  description: 'Asks a customer who hides the phone number to share it; the number comes back in `contacts`.',
})

const flow = {
  flow_message_version: Type.Literal('3'),
  flow_cta: upTo(INTERACTIVE_LIMITS.flowButton, 'Text of the button that opens the flow.'),
  flow_token: Type.Optional(upTo(LONGEST_TOKEN, 'Identifies the opening message to the flow.')),
  mode: Type.Optional(Type.Enum(['draft', 'published'])),
  flow_action: Type.Optional(Type.Enum(['navigate', 'data_exchange'])),
  flow_action_payload: Type.Optional(
    closed({
      screen: Type.Optional(upTo(LONGEST_ID, 'First screen.')),
      data: Type.Optional(Type.Object({}, { additionalProperties: true, description: 'Input of the screen.' })),
    }),
  ),
}
const Flow = closed(
  {
    type: Type.Literal('flow'),
    ...framed,
    action: closed({
      name: Type.Literal('flow'),
      parameters: Type.Union([
        closed({ flow_id: upTo(LONGEST_ID), ...flow }),
        closed({ flow_name: upTo(LONGEST_ID), ...flow }),
      ]),
    }),
  },
  {
    example: {
      type: 'flow',
      body: { text: 'Book a fitting.' },
      action: {
        name: 'flow',
        parameters: { flow_message_version: '3', flow_id: '1197715005513101', flow_cta: 'Book' },
      },
    },
    title: 'FlowMessage',
    description: 'A button that opens a flow; its answers come back as `reply.responseJson`.',
  },
)

export const InteractiveShape = Type.Union(
  [ReplyButtons, ListMenu, CallToAction, LocationRequest, ContactRequest, Flow],
  { title: 'Interactive' },
)
export type Interactive = Static<typeof InteractiveShape>

/** Parley's own bound, in characters of JSON. */
const LONGEST_FLOW_DATA = 32_768

type Fitting = {
  action?: {
    name?: string
    buttons?: readonly { reply?: { id?: string; title?: string } }[]
    sections?: readonly Section[]
    parameters?: { url?: string; flow_action_payload?: { data?: object } }
  }
}
type Section = { title?: string; rows?: readonly { id?: string }[] }

export function interactiveFaults({ action = {} }: Fitting): FieldFault[] {
  const { buttons = [], sections = [], parameters } = action
  const ofButton = (member: 'id' | 'title') =>
    repeated(buttons.map(({ reply }) => reply?.[member])).map((place) => ({
      path: `interactive.action.buttons[${place}].reply.${member}`,
      message: 'must differ from those of the other buttons',
    }))
  return [...ofButton('id'), ...ofButton('title'), ...sectionFaults(sections), ...flowFaults(parameters)]
}

function sectionFaults(sections: readonly Section[]): FieldFault[] {
  const path = 'interactive.action.sections'
  const rows = sections.flatMap((section, place) =>
    (section.rows ?? []).map(({ id }, row) => ({ id, path: `${path}[${place}].rows[${row}].id` })),
  )
  const tooMany = { path, message: `must have at most ${INTERACTIVE_LIMITS.rows} rows in all` }
  const untitled = sections.flatMap(({ title }, place) =>
    title === undefined ? [{ path: `${path}[${place}].title`, message: 'is required with several sections' }] : [],
  )
  return [
    ...(rows.length > INTERACTIVE_LIMITS.rows ? [tooMany] : []),
    ...(sections.length > 1 ? untitled : []),
    ...repeated(rows.map(({ id }) => id)).map((place) => ({
      path: rows[place]?.path ?? path,
      message: 'must differ from those of the other rows',
    })),
  ]
}

function flowFaults(parameters: NonNullable<Fitting['action']>['parameters']): FieldFault[] {
  const data = parameters?.flow_action_payload?.data
  if (data === undefined || JSON.stringify(data).length <= LONGEST_FLOW_DATA) return []
  const path = 'interactive.action.parameters.flow_action_payload.data'
  return [{ path, message: `must have at most ${LONGEST_FLOW_DATA} characters of JSON` }]
}

const repeated = (values: readonly (string | undefined)[]): number[] =>
  [...values.keys()].filter((place) => values[place] !== undefined && values.indexOf(values[place]) < place)
