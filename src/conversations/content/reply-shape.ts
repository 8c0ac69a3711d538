import { Type } from 'typebox'
import { nullableText } from '../../http/shapes.ts'

/** The choice of a customer, in envelopes and in the record of a message. */
export const ReplyShape = Type.Object(
  {
    id: nullableText('The id of the button or of the row of a list.'),
    title: nullableText('The title of the button or row.'),
    payload: nullableText('The payload of the button of a template.'),
    responseJson: nullableText('The answers of a flow, as JSON text.'),
  },
  { title: 'EnvelopeReply', description: 'The choice of the customer.' },
)
