import { type CallItem, type JsonObject, NO_DETAILS, type VoiceCall } from '../../events/event-item.ts'
import {
  idAt,
  isoAt,
  listAt,
  memberAt,
  phoneAt,
  secondsAt,
  textAt,
  toText,
  WAMID_LIMIT,
} from '../../events/event-reader.ts'
import { readError } from '../message-content.ts'
import { ADDRESSEE, deriveWamid, type MessagePlace, SENDER } from './message-item.ts'

const EVENT_LIMIT = 64

/** Reads an entry in `calls[]`: ringing, ended, or a result such as a recording. */
export function readCall(element: JsonObject, place: Omit<MessagePlace, 'isEcho'>): CallItem {
  const event = textAt(element, 'event', EVENT_LIMIT)?.toLowerCase() ?? 'connect'
  const direction = directionOf(element, place.businessPhone)
  const isEcho = direction === 'outbound'
  const { customer, contact } = place.findCustomer(element, isEcho ? ADDRESSEE : SENDER)
  const placed = place.placed(secondsAt(element, 'timestamp'), contact)
  const callId = idAt(element, 'id', WAMID_LIMIT) ?? deriveWamid(element, placed)
  const call: VoiceCall = { direction, ...readOutcome(element, event, direction), events: [event] }
  const isFirst = event === 'connect'
  return {
    ...placed,
    kind: 'call',
    wamid: isFirst ? callId : `${callId}.${event}`,
    callId,
    customer,
    businessPhone: place.businessPhone,
    isEcho,
    opensWindow: false,
    isForwarded: true,
    groupId: null,
    providerType: 'call',
    type: 'call',
    text: CALL_TEXT,
    media: null,
    recordType: 'text',
    recordText: CALL_TEXT,
    quotedWamid: null,
    originalWamid: isFirst ? null : callId,
    details: { ...NO_DETAILS, call },
    call,
    error: readError(listAt(element, 'errors')[0]),
  }
}

const CALL_TEXT = '[call]'

function directionOf(call: JsonObject, businessPhone: string | null): VoiceCall['direction'] {
  const direction = textAt(call, 'direction')?.toUpperCase()
  if (direction !== undefined) return direction === 'BUSINESS_INITIATED' ? 'outbound' : 'inbound'
  return businessPhone !== null && phoneAt(call, 'from') === businessPhone ? 'outbound' : 'inbound'
}

function readOutcome(
  call: JsonObject,
  event: string,
  direction: VoiceCall['direction'],
): Pick<VoiceCall, 'status' | 'startedAt' | 'endedAt'> {
  const at = isoAt(call, 'timestamp')
  if (event === 'connect') return { status: 'ringing', startedAt: at, endedAt: null }
  if (event !== 'terminate') return { status: 'completed', startedAt: null, endedAt: null }
  const startedAt = isoAt(call, 'start_time')
  const wasAnswered = startedAt !== null || (secondsAt(call, 'duration') ?? 0) > 0
  const isFailed = outcomeAt(call) === 'FAILED' && (wasAnswered || direction === 'outbound')
  return {
    status: isFailed ? 'failed' : wasAnswered ? 'completed' : 'missed',
    startedAt,
    endedAt: isoAt(call, 'end_time') ?? at,
  }
}

function outcomeAt(call: JsonObject): string | undefined {
  const [listed] = listAt(call, 'status')
  return (toText(listed) ?? toText(memberAt(call, 'status')))?.toUpperCase()
}
