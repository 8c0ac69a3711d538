/**
 * Every kind of message that the platform sends, as it sends it, and what becomes of it: `record` and `envelope` are the members
 * that differ from those of a text `Hello`. Without a `record` it makes no message, without an `envelope` receivers do not get it.
 */
export type PlatformMessage = {
  name: string
  /** Members of the message beside id, from and timestamp; of a call, those of the call. */
  message: object
  record?: object
  envelope?: object
  field?: 'messages' | 'calls' | 'smb_message_echoes' | 'standby'
  /** It is about an earlier text `Hello` with the id `TARGET`, whose record is the one that counts. */
  isAboutTarget?: boolean
  /** The business wrote or called. */
  isOutbound?: boolean
  /** The customer hides the phone number. */
  isHidden?: boolean
  /** Of the conversation. */
  referral?: object
}

export const TARGET = '<target>'
/** The id of a call. */
export const CALL = '<call>'
/** The address of a file: its token differs. */
export const ADDRESS = '<address>'

/** The time of every message, and the same in ISO 8601. */
export const AT = 1_772_443_800
export const AT_ISO = '2026-03-02T09:30:00.000Z'
const LATER = String(AT + 42)
const LATER_ISO = '2026-03-02T09:30:42.000Z'

const NO_REPLY = { id: null, title: null, description: null, payload: null, responseJson: null, callPermission: null }
const media = (type: string, more: object = {}) => ({ url: ADDRESS, type, filename: null, voice: false, ...more })

const file = (kind: string, mimeType: string, id: string, more: object = {}) => ({
  kind,
  mimeType,
  filename: null,
  caption: null,
  voice: false,
  providerMediaId: id,
  ...more,
})

const AD = {
  source_url: 'https://fb.me/3cr4Wqqkv',
  source_id: '120226305854810726',
  source_type: 'ad',
  body: 'Summer succulents are here!',
  headline: 'Chat with us',
  media_type: 'image',
  image_url: 'https://scontent.example/t45.jpg',
  ctwa_clid: 'Aff-n8ZTODiE79d22KtAwQKj9e',
  welcome_message: { text: 'Hi there! How can we help?' },
}
const POST = {
  source_url: 'https://fb.me/post',
  source_id: '998',
  source_type: 'post',
  headline: 'New arrivals',
  media_type: 'video',
  video_url: 'https://scontent.example/v.mp4',
  thumbnail_url: 'https://scontent.example/v.jpg',
}
const PRODUCT = { catalog_id: '194836987003835', product_retailer_id: 'di9ozbzfi4' }
const LOCATION = {
  latitude: 44.53,
  longitude: 26.02,
  name: 'Philz Coffee',
  address: '101 Forest Ave',
  url: 'https://foursquare.example/v/1',
}
const CARD = {
  name: { formatted_name: 'Ida Bianchi', first_name: 'Ida', last_name: 'Bianchi', prefix: 'Dr.' },
  phones: [{ phone: '+39 333 7654321', wa_id: '393337654321', type: 'CELL' }],
  emails: [{ email: 'ida@example.com', type: 'WORK' }],
  org: { company: 'Bianchi', title: 'CEO' },
  addresses: [{ street: 'Via Roma 1', city: 'Rome', zip: '00100', country: 'Italy', country_code: 'IT', type: 'HOME' }],
  urls: [{ url: 'https://bianchi.example', type: 'WORK' }],
  birthday: '1990-01-31',
}
const SHARED = { phones: [{ phone: '+39 333 1112223' }], vcard: 'BEGIN:VCARD', origin: 'contact_request' }
const ORDER = {
  catalog_id: '194836987003835',
  text: 'As a gift, please',
  product_items: [{ product_retailer_id: 'di9ozbzfi4', quantity: 2, item_price: 30.5, currency: 'USD' }],
}
const interactive = (type: string, content: object) => ({ type: 'interactive', interactive: { type, [type]: content } })
const UNSUPPORTED = {
  code: 131051,
  title: 'Message type unknown',
  message: 'Message type unknown',
  error_data: { details: 'Message type is currently not supported.' },
}
const UNSUPPORTED_ERROR = {
  code: 131051,
  title: 'Message type unknown',
  details: 'Message type is currently not supported.',
}
const TOO_LARGE = {
  code: 131052,
  title: 'Media download error',
  message: 'Media download error',
  error_data: { details: 'File is larger than 100 MB' },
  href: 'https://developers.example/error-codes',
}
const ringing = { direction: 'inbound', status: 'ringing', startedAt: AT_ISO, endedAt: null, events: ['connect'] }
const OUTBOUND = {
  direction: 'outbound',
  status: 'completed',
  startedAt: AT_ISO,
  endedAt: AT_ISO,
  events: ['terminate'],
}
const RECORDED = {
  direction: 'inbound',
  status: 'completed',
  startedAt: null,
  endedAt: null,
  events: ['call_recording_available'],
}
const both = (members: object) => ({ record: members, envelope: members })
const reply = (members: object) => ({ ...NO_REPLY, ...members })
const replied = (kind: string, text: string, members: object, more: object = {}) => {
  const content = { type: 'reply', reply: reply(members) }
  return {
    record: { kind, text, content, reply: reply(members), ...more },
    envelope: { type: kind, text, reply: reply(members), ...more },
  }
}
const noticed = (kind: string, text: string) => ({ record: { kind, text } })
const passed = (kind: string, more: object = {}) => ({
  record: { kind, text: `[${kind}]`, ...more },
  envelope: { type: kind, text: `[${kind}]`, ...more },
})
const text = { type: 'text', text: { body: 'Hello' } }
const hello = both({})

export const PLATFORM_MESSAGES: readonly PlatformMessage[] = [
  { name: 'text', message: text, ...hello },
  {
    name: 'answer to a message',
    message: { ...text, context: { from: '390655501234', id: 'wamid.quoted' } },
    ...both({ quotedWamid: 'wamid.quoted' }),
  },
  { name: 'forwarded text', message: { ...text, context: { forwarded: true } }, ...both({ forwarded: true }) },
  {
    name: 'text that was forwarded many times',
    message: { ...text, context: { frequently_forwarded: true } },
    ...both({ forwarded: true, frequentlyForwarded: true }),
  },
  {
    name: 'question about a product',
    message: { ...text, context: { from: '390655501234', id: 'wamid.product', referred_product: PRODUCT } },
    ...both({ quotedWamid: 'wamid.product', referredProduct: PRODUCT }),
  },
  { name: 'message from an ad', message: { ...text, referral: AD }, ...both({ referral: AD }), referral: AD },
  { name: 'message from a post', message: { ...text, referral: POST }, ...both({ referral: POST }), referral: POST },
  {
    name: 'image',
    message: { type: 'image', image: { id: '77', mime_type: 'image/jpeg', sha256: 'a2E=', caption: 'Size 42?' } },
    record: { type: 'image', kind: 'image', text: 'Size 42?', media: media('image/jpeg') },
    envelope: { type: 'image', text: 'Size 42?', media: file('image', 'image/jpeg', '77', { caption: 'Size 42?' }) },
  },
  {
    name: 'image with an address',
    message: { type: 'image', image: { id: '770', mime_type: 'image/png', url: 'https://lookaside.example/1' } },
    record: { type: 'image', kind: 'image', text: '[image]', media: media('image/png') },
    envelope: { type: 'image', text: '[image]', media: file('image', 'image/png', '770') },
  },
  {
    name: 'video',
    message: { type: 'video', video: { id: '78', mime_type: 'video/mp4', sha256: 'a2E=', caption: 'Look' } },
    record: { type: 'video', kind: 'video', text: 'Look', media: media('video/mp4') },
    envelope: { type: 'video', text: 'Look', media: file('video', 'video/mp4', '78', { caption: 'Look' }) },
  },
  {
    name: 'audio file',
    message: { type: 'audio', audio: { id: '790', mime_type: 'audio/mpeg', sha256: 'a2E=', voice: false } },
    record: { type: 'audio', kind: 'audio', text: '[audio]', media: media('audio/mpeg') },
    envelope: { type: 'audio', text: '[audio]', media: file('audio', 'audio/mpeg', '790') },
  },
  {
    name: 'voice note',
    message: { type: 'audio', audio: { id: '79', mime_type: 'audio/ogg; codecs=opus', sha256: 'a2E=', voice: true } },
    record: { type: 'audio', kind: 'audio', text: '[audio]', media: media('audio/ogg; codecs=opus', { voice: true }) },
    envelope: {
      type: 'audio',
      text: '[audio]',
      media: file('audio', 'audio/ogg; codecs=opus', '79', { voice: true }),
    },
  },
  {
    name: 'voice note of the older type',
    message: { type: 'voice', voice: { id: '791', mime_type: 'audio/ogg' } },
    record: { type: 'audio', kind: 'audio', text: '[audio]', media: media('audio/ogg', { voice: true }) },
    envelope: { type: 'audio', text: '[audio]', media: file('audio', 'audio/ogg', '791', { voice: true }) },
  },
  {
    name: 'document',
    message: {
      type: 'document',
      document: { id: '80', mime_type: 'application/pdf', filename: 'offer.pdf', caption: 'Our offer', sha256: 'a2E=' },
    },
    record: {
      type: 'document',
      kind: 'document',
      text: 'Our offer',
      media: media('application/pdf', { filename: 'offer.pdf' }),
    },
    envelope: {
      type: 'document',
      text: 'Our offer',
      media: file('document', 'application/pdf', '80', { filename: 'offer.pdf', caption: 'Our offer' }),
    },
  },
  {
    name: 'document without a name',
    message: { type: 'document', document: { id: '800', mime_type: 'application/zip' } },
    record: { type: 'document', kind: 'document', text: '[document]', media: media('application/zip') },
    envelope: { type: 'document', text: '[document]', media: file('document', 'application/zip', '800') },
  },
  {
    name: 'sticker',
    message: { type: 'sticker', sticker: { id: '81', mime_type: 'image/webp', sha256: 'a2E=', animated: true } },
    record: { type: 'image', kind: 'sticker', text: '[sticker]', media: media('image/webp') },
    envelope: { type: 'image', text: '[sticker]', media: file('image', 'image/webp', '81') },
  },
  {
    name: 'video that the provider could not fetch',
    message: { type: 'video', video: { mime_type: 'video/mp4' }, errors: [TOO_LARGE] },
    record: {
      type: 'video',
      kind: 'video',
      text: '[video]',
      media: { ...media('video/mp4'), url: null },
      error: { code: 131052, title: 'Media download error', details: 'File is larger than 100 MB' },
    },
    envelope: {
      type: 'video',
      text: '[video]',
      media: file('video', 'video/mp4', '', { providerMediaId: null }),
      error: { code: 131052, title: 'Media download error', details: 'File is larger than 100 MB' },
    },
  },
  {
    name: 'location',
    message: { type: 'location', location: LOCATION },
    record: {
      kind: 'location',
      text: 'Philz Coffee',
      content: { type: 'location', location: LOCATION },
      location: LOCATION,
    },
    envelope: { type: 'location', text: '[location]', location: LOCATION },
  },
  {
    name: 'contact cards',
    message: { type: 'contacts', contacts: [CARD] },
    record: {
      kind: 'contacts',
      text: '[contacts]',
      content: { type: 'contacts', contacts: [CARD] },
      contacts: [CARD],
    },
    envelope: { type: 'contacts', text: '[contacts]', contacts: [CARD] },
  },
  {
    name: 'answer to a contact request',
    message: { type: 'contacts', contacts: [SHARED], context: { from: '390655501234', id: 'wamid.request' } },
    record: {
      kind: 'contacts',
      text: '[contacts]',
      content: { type: 'contacts', contacts: [SHARED] },
      contacts: [SHARED],
      quotedWamid: 'wamid.request',
    },
    envelope: { type: 'contacts', text: '[contacts]', contacts: [SHARED], quotedWamid: 'wamid.request' },
  },
  {
    name: 'reply button',
    message: interactive('button_reply', { id: 'yes', title: 'Yes' }),
    ...replied('interactive', 'Yes', { id: 'yes', title: 'Yes' }),
  },
  {
    name: 'list row',
    message: interactive('list_reply', { id: 'size-42', title: '42', description: 'EU size, wide' }),
    ...replied('interactive', '42', { id: 'size-42', title: '42', description: 'EU size, wide' }),
  },
  {
    name: 'flow',
    message: interactive('nfm_reply', { name: 'flow', body: 'Sent', response_json: '{"date":"2026-03-05"}' }),
    ...replied('interactive', 'Sent', { title: 'Sent', responseJson: '{"date":"2026-03-05"}' }),
  },
  {
    name: 'granted call permission',
    message: interactive('call_permission_reply', {
      response: 'accept',
      is_permanent: false,
      expiration_timestamp: LATER,
      response_source: 'user_action',
    }),
    ...replied('interactive', '[call_permission_reply]', {
      callPermission: { response: 'accept', source: 'user_action', isPermanent: false, expiresAt: LATER_ISO },
    }),
  },
  {
    name: 'refused call permission',
    message: interactive('call_permission_reply', { response: 'reject', response_source: 'automatic' }),
    ...replied('interactive', '[call_permission_reply]', {
      callPermission: { response: 'reject', source: 'automatic', isPermanent: null, expiresAt: null },
    }),
  },
  {
    name: 'chosen payment method',
    message: interactive('payment_method', { payment_method: 'upi', reference_id: 'order-1' }),
    record: { kind: 'interactive', text: '[payment_method]' },
    envelope: { type: 'interactive', text: '[payment_method]' },
  },
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
