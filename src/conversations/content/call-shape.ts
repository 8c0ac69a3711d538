import { Type } from 'typebox'
import { nullableTime } from '../../http/shapes.ts'

export const CallShape = Type.Object(
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
