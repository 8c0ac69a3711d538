import { type Static, Type } from 'typebox'
import { nullableInteger, nullableText, nullableTime } from '../../http/shapes.ts'

const CallShape = Type.Object(
  {
    direction: Type.Enum(['inbound', 'outbound'], { description: 'Inbound: the customer called.' }),
    status: Type.Enum(['ringing', 'completed', 'missed', 'failed'], {
      description: '`missed`: ended without an answer.',
    }),
    startedAt: nullableTime('When the call was answered, or when it rang if unanswered.'),
    endedAt: nullableTime('When the call ended.'),
    events: Type.Array(Type.String(), { description: "The provider's call events, such as `terminate`." }),
  },
  { title: 'EnvelopeCall', description: 'The call.' },
)

const CallPermissionShape = Type.Object(
  {
    response: nullableText('`accept` or `reject`.'),
    source: nullableText('Who answered: `user_action`, or `automatic` after a call from the customer.'),
    isPermanent: Type.Union([Type.Boolean(), Type.Null()], { description: 'Whether the permission is permanent.' }),
    expiresAt: nullableTime('End of the permission.'),
  },
  { title: 'EnvelopeCallPermission', description: 'Answer to a call permission request.' },
)

const ReplyShape = Type.Object(
  {
    id: nullableText('Id of the button or list row.'),
    title: nullableText('Title of the button or row.'),
    description: nullableText('Description of the list row.'),
    payload: nullableText('Payload of the template button.'),
    responseJson: nullableText('Flow answers as JSON text.'),
    callPermission: Type.Union([CallPermissionShape, Type.Null()]),
  },
  { title: 'EnvelopeReply', description: "The customer's choice." },
)

/** Fills in members missing from earlier versions. */
export const toReplyMember = (stored: Partial<Static<typeof ReplyShape>>): Static<typeof ReplyShape> => ({
  id: stored.id ?? null,
  title: stored.title ?? null,
  description: stored.description ?? null,
  payload: stored.payload ?? null,
  responseJson: stored.responseJson ?? null,
  callPermission: stored.callPermission ?? null,
})

const providersOwn = (description: string) => Type.Object({}, { additionalProperties: true, description })

const KINDS = {
  reply: ReplyShape,
  interactive: providersOwn('The interactive message, as in a send.'),
  location: providersOwn("The location: `latitude`, `longitude`, `name`, `address`, and the provider's additions."),
  contacts: Type.Array(Type.Object({}, { additionalProperties: true }), {
    description: 'The contact cards, as in a send.',
  }),
  order: providersOwn("The customer's order in the provider's format."),
  call: CallShape,
  reaction: Type.Object(
    {
      messageId: Type.Integer({ description: 'Message id.' }),
      emoji: nullableText('The emoji; null if the reaction was removed.'),
    },
    { description: 'A sent reaction; its target shows it as `reaction`.' },
  ),
}
type Kinds = { [Kind in keyof typeof KINDS]: Static<(typeof KINDS)[Kind]> }

/** `type` is the name of the only member present. */
export type StructuredContent = {
  [Kind in keyof Kinds]: { type: Kind } & { [Member in Kind]: Kinds[Kind] }
}[keyof Kinds]

export const StructuredContentShape = Type.Unsafe<StructuredContent>(
  Type.Object(
    {
      type: Type.Enum(Object.keys(KINDS) as (keyof Kinds)[], { description: 'Name of the other member.' }),
      ...Object.fromEntries(Object.entries(KINDS).map(([name, shape]) => [name, Type.Optional(shape)])),
    },
    {
      title: 'StructuredContent',
      description: 'Message content in addition to text and media.',
    },
  ),
)

/** Inapplicable members are absent; objects are the provider's own. */
export type MessageContext = {
  referral?: object
  forwarded?: true
  frequentlyForwarded?: true
  referredProduct?: object
}

const orNull = <T extends Parameters<typeof Type.Union>[0][number]>(shape: T) => Type.Union([shape, Type.Null()])
const providersOwnOrNull = (description: string) => orNull(providersOwn(description))

export const REFERRAL = providersOwnOrNull("The ad or post that led the customer here, in the provider's format.")

const ReportedErrorShape = Type.Object(
  {
    code: nullableInteger('Provider error code.'),
    title: nullableText('Provider error title.'),
    details: nullableText('Provider error details.'),
  },
  { title: 'MessageFailure', description: 'What went wrong, as reported by the provider.' },
)

export const ERROR = orNull(ReportedErrorShape)

/** Null for other message kinds. */
export const MESSAGE_MEMBERS = {
  reply: orNull(ReplyShape),
  location: providersOwnOrNull("The location in the provider's format."),
  contacts: orNull(
    Type.Array(Type.Object({}, { additionalProperties: true }), {
      description: "The shared contact cards in the provider's format.",
    }),
  ),
  order: providersOwnOrNull("The order in the provider's format."),
  referral: REFERRAL,
  forwarded: Type.Boolean({ description: 'Whether the customer forwarded the message from another chat.' }),
  frequentlyForwarded: Type.Boolean({ description: 'Whether the message was forwarded many times.' }),
  referredProduct: providersOwnOrNull("The product in question, in the provider's format."),
  call: orNull(CallShape),
}
