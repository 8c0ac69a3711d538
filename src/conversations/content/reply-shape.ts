import { type Static, Type } from 'typebox'
import { nullableText, nullableTime } from '../../http/shapes.ts'

const CallPermissionShape = Type.Object(
  {
    response: nullableText('`accept` or `reject`.'),
    source: nullableText('Who answered: `user_action`, or `automatic` after a call from the customer.'),
    isPermanent: Type.Union([Type.Boolean(), Type.Null()], { description: 'Whether the permission is permanent.' }),
    expiresAt: nullableTime('End of the permission.'),
  },
  { title: 'EnvelopeCallPermission', description: 'Answer to a call permission request.' },
)

export const ReplyShape = Type.Object(
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
