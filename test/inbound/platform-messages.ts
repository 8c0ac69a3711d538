import { CONTENTS } from './platform-contents.ts'
import {
  AT,
  AT_ISO,
  CALL,
  hello,
  LATER,
  LATER_ISO,
  noticed,
  ORDER,
  OUTBOUND,
  type PlatformMessage,
  passed,
  RECORDED,
  replied,
  ringing,
  TARGET,
  text,
  UNSUPPORTED,
  UNSUPPORTED_ERROR,
} from './platform-message.ts'

const NOTICES: readonly PlatformMessage[] = [
  {
    name: 'interactive answer whose content is missing',
    message: { type: 'interactive' },
    ...passed('interactive'),
  },
  {
    name: 'template button',
    message: {
      type: 'button',
      button: { text: 'Track', payload: 'track-1042' },
      context: { from: '390655501234', id: 'wamid.t' },
    },
    ...replied('button', 'Track', { title: 'Track', payload: 'track-1042' }, { quotedWamid: 'wamid.t' }),
  },
  {
    name: 'order',
    message: { type: 'order', order: ORDER },
    record: { kind: 'order', text: 'As a gift, please', content: { type: 'order', order: ORDER }, order: ORDER },
    envelope: { type: 'order', text: '[order]', order: ORDER },
  },
  {
    name: 'message that the provider does not support',
    message: { type: 'unsupported', errors: [UNSUPPORTED] },
    ...passed('unsupported', { error: UNSUPPORTED_ERROR }),
  },
  {
    name: 'poll',
    message: { type: 'unsupported', errors: [UNSUPPORTED], unsupported: { type: 'poll' } },
    record: { kind: 'unsupported', text: '[unsupported: poll]', error: UNSUPPORTED_ERROR },
    envelope: { type: 'unsupported', text: '[unsupported: poll]', error: UNSUPPORTED_ERROR },
  },
  {
    name: 'deleted message of an earlier day',
    message: {
      type: 'unknown',
      errors: [{ code: 501, title: 'Unsupported message type', details: 'Message type is not currently supported' }],
    },
    ...passed('unknown', {
      error: { code: 501, title: 'Unsupported message type', details: 'Message type is not currently supported' },
    }),
  },
  { name: 'type of the future', message: { type: 'hologram', hologram: { id: '5' } }, ...passed('hologram') },
  { name: 'vote in a poll', message: { type: 'poll_vote', poll_vote: { option: 'a' } }, ...passed('poll_vote') },
  {
    name: 'system notice of a changed identity',
    message: {
      type: 'system',
      system: { body: 'User identity changed', type: 'customer_identity_changed' },
      identity: { acknowledged: true, created_timestamp: String(AT), hash: 'xyz' },
    },
    ...noticed('system', 'User identity changed'),
  },
  { name: 'opened chat', message: { type: 'request_welcome' }, ...noticed('request_welcome', '[request_welcome]') },
  {
    name: 'reaction',
    message: { type: 'reaction', reaction: { message_id: TARGET, emoji: '👍' } },
    isAboutTarget: true,
    record: { reaction: '👍' },
    envelope: { type: 'reaction', text: null, reaction: { targetWamid: TARGET, emoji: '👍' } },
  },
  {
    name: 'reaction that is taken back',
    message: { type: 'reaction', reaction: { message_id: TARGET } },
    isAboutTarget: true,
    record: {},
    envelope: { type: 'reaction', text: null, reaction: { targetWamid: TARGET, emoji: null } },
  },
  {
    name: 'edit',
    message: { type: 'edit', edit: { original_message_id: TARGET, message: { type: 'text', text: { body: 'Hi!' } } } },
    isAboutTarget: true,
    record: { text: 'Hi!', editedAt: AT_ISO },
    envelope: { type: 'edit', text: 'Hi!', originalWamid: TARGET },
  },
  {
    name: 'revoke',
    message: { type: 'revoke', revoke: { original_message_id: TARGET } },
    isAboutTarget: true,
    record: { text: '[revoked]', revokedAt: AT_ISO },
    envelope: { type: 'revoke', text: '[revoke]', originalWamid: TARGET },
  },
  { name: 'customer who hides the number', message: text, isHidden: true, ...hello },
  {
    name: 'group message',
    message: { ...text, group_id: 'G-<from>' },
    record: { senderName: 'Ada (+<from>)' },
    envelope: { groupId: 'G-<from>' },
  },
  {
    name: 'message of the phone app',
    field: 'smb_message_echoes',
    isOutbound: true,
    message: text,
    record: { direction: 'outbound', status: 'sent', senderName: '<business>' },
    envelope: { isEcho: true },
  },
  { name: 'message to the agent of the provider', field: 'standby', message: text, ...hello },
  {
    name: 'ringing call',
    field: 'calls',
    message: { event: 'connect', direction: 'USER_INITIATED', session: { sdp_type: 'offer', sdp: 'v=0' } },
    record: { kind: 'call', text: '[call]', content: { type: 'call', call: ringing }, call: ringing },
    envelope: { type: 'call', text: '[call]', call: ringing },
  },
  ...[
    { name: 'missed call', status: 'FAILED', outcome: 'missed', started: null },
    { name: 'answered call', status: 'COMPLETED', outcome: 'completed', started: AT_ISO },
  ].map(({ name, status, outcome, started }): PlatformMessage => {
    const call = {
      direction: 'inbound',
      status: outcome,
      startedAt: started,
      endedAt: LATER_ISO,
      events: ['terminate'],
    }
    const times = started === null ? {} : { start_time: String(AT), duration: 42 }
    return {
      name,
      field: 'calls',
      message: { event: 'terminate', direction: 'USER_INITIATED', status, end_time: LATER, ...times },
      record: { kind: 'call', text: '[call]', content: { type: 'call', call }, call },
      envelope: { type: 'call', text: '[call]', call, originalWamid: CALL },
    }
  }),
  {
    name: 'call of the business',
    field: 'calls',
    isOutbound: true,
    message: { event: 'terminate', direction: 'BUSINESS_INITIATED', status: ['COMPLETED'], start_time: String(AT) },
    record: {
      direction: 'outbound',
      status: 'sent',
      senderName: '<business>',
      kind: 'call',
      text: '[call]',
      content: { type: 'call', call: OUTBOUND },
      call: OUTBOUND,
    },
    envelope: { type: 'call', text: '[call]', isEcho: true, call: OUTBOUND, originalWamid: CALL },
  },
  {
    name: 'recording of a call',
    field: 'calls',
    message: {
      event: 'call_recording_available',
      call_recording: { type: 'audio', audio: { id: '100', mime_type: 'audio/ogg; codecs=opus', sha256: 'a2E=' } },
    },
    record: { kind: 'call', text: '[call]', content: { type: 'call', call: RECORDED }, call: RECORDED },
    envelope: { type: 'call', text: '[call]', call: RECORDED, originalWamid: CALL },
  },
]

export const PLATFORM_MESSAGES: readonly PlatformMessage[] = [...CONTENTS, ...NOTICES]
