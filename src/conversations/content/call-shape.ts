import { Type } from 'typebox'
import { nullableTime } from '../../http/shapes.ts'

export const CallShape = Type.Object(
  {
    direction: Type.Enum(['inbound', 'outbound'], { description: 'Inbound: the customer called.' }),
    status: Type.Enum(['ringing', 'completed', 'missed', 'failed'], {
      description: '`missed`: it ended without an answer.',
    }),
    startedAt: nullableTime('When it was answered; of an unanswered call, when it rang.'),
    endedAt: nullableTime('When it ended.'),
    events: Type.Array(Type.String(), { description: "The provider's events about the call, such as `terminate`." }),
  },
  { title: 'EnvelopeCall', description: 'The call.' },
)
