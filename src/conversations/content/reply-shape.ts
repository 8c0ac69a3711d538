import { type Static, Type } from 'typebox'
import { nullableText, nullableTime } from '../../http/shapes.ts'

const CallPermissionShape = Type.Object(
  {
    response: nullableText('`accept` or `reject`.'),
    source: nullableText('Who answered: `user_action`, or `automatic` after a call of the customer.'),
    isPermanent: Type.Union([Type.Boolean(), Type.Null()], { description: 'Whether the permission has no end.' }),
    expiresAt: nullableTime('The end of the permission.'),
  },
  { title: 'EnvelopeCallPermission', description: 'The answer to a call permission request.' },
)

export const ReplyShape = Type.Object(
  {
    id: nullableText('The id of the button or of the row of a list.'),
    title: nullableText('The title of the button or row.'),
    description: nullableText('The description of the row of a list.'),
    payload: nullableText('The payload of the button of a template.'),
    responseJson: nullableText('The answers of a flow, as JSON text.'),
    callPermission: Type.Union([CallPermissionShape, Type.Null()]),
  },
  { title: 'EnvelopeReply', description: 'The choice of the customer.' },
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
