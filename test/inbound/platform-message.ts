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
export const LATER = String(AT + 42)
export const LATER_ISO = '2026-03-02T09:30:42.000Z'

const NO_REPLY = { id: null, title: null, description: null, payload: null, responseJson: null, callPermission: null }
export const media = (type: string, more: object = {}) => ({
  url: ADDRESS,
  type,
  filename: null,
  voice: false,
  ...more,
})

export const file = (kind: string, mimeType: string, id: string, more: object = {}) => ({
  kind,
  mimeType,
  filename: null,
  caption: null,
  voice: false,
  providerMediaId: id,
  ...more,
})

export const AD = {
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
export const POST = {
  source_url: 'https://fb.me/post',
  source_id: '998',
  source_type: 'post',
  headline: 'New arrivals',
  media_type: 'video',
  video_url: 'https://scontent.example/v.mp4',
  thumbnail_url: 'https://scontent.example/v.jpg',
}
export const PRODUCT = { catalog_id: '194836987003835', product_retailer_id: 'di9ozbzfi4' }
export const LOCATION = {
  latitude: 44.53,
  longitude: 26.02,
  name: 'Philz Coffee',
  address: '101 Forest Ave',
  url: 'https://foursquare.example/v/1',
}
export const CARD = {
  name: { formatted_name: 'Ida Bianchi', first_name: 'Ida', last_name: 'Bianchi', prefix: 'Dr.' },
  phones: [{ phone: '+39 333 7654321', wa_id: '393337654321', type: 'CELL' }],
  emails: [{ email: 'ida@example.com', type: 'WORK' }],
  org: { company: 'Bianchi', title: 'CEO' },
  addresses: [{ street: 'Via Roma 1', city: 'Rome', zip: '00100', country: 'Italy', country_code: 'IT', type: 'HOME' }],
  urls: [{ url: 'https://bianchi.example', type: 'WORK' }],
  birthday: '1990-01-31',
}
export const SHARED = { phones: [{ phone: '+39 333 1112223' }], vcard: 'BEGIN:VCARD', origin: 'contact_request' }
export const ORDER = {
  catalog_id: '194836987003835',
  text: 'As a gift, please',
  product_items: [{ product_retailer_id: 'di9ozbzfi4', quantity: 2, item_price: 30.5, currency: 'USD' }],
}
export const interactive = (type: string, content: object) => ({
  type: 'interactive',
  interactive: { type, [type]: content },
})
export const UNSUPPORTED = {
  code: 131051,
  title: 'Message type unknown',
  message: 'Message type unknown',
  error_data: { details: 'Message type is currently not supported.' },
}
export const UNSUPPORTED_ERROR = {
  code: 131051,
  title: 'Message type unknown',
  details: 'Message type is currently not supported.',
}
export const TOO_LARGE = {
  code: 131052,
  title: 'Media download error',
  message: 'Media download error',
  error_data: { details: 'File is larger than 100 MB' },
  href: 'https://developers.example/error-codes',
}
export const ringing = {
  direction: 'inbound',
  status: 'ringing',
  startedAt: AT_ISO,
  endedAt: null,
  events: ['connect'],
}
export const OUTBOUND = {
  direction: 'outbound',
  status: 'completed',
  startedAt: AT_ISO,
  endedAt: AT_ISO,
  events: ['terminate'],
}
export const RECORDED = {
  direction: 'inbound',
  status: 'completed',
  startedAt: null,
  endedAt: null,
  events: ['call_recording_available'],
}
export const both = (members: object) => ({ record: members, envelope: members })
export const reply = (members: object) => ({ ...NO_REPLY, ...members })
export const replied = (kind: string, text: string, members: object, more: object = {}) => {
  const content = { type: 'reply', reply: reply(members) }
  return {
    record: { kind, text, content, reply: reply(members), ...more },
    envelope: { type: kind, text, reply: reply(members), ...more },
  }
}
export const noticed = (kind: string, text: string) => ({ record: { kind, text } })
export const passed = (kind: string, more: object = {}) => ({
  record: { kind, text: `[${kind}]`, ...more },
  envelope: { type: kind, text: `[${kind}]`, ...more },
})
export const text = { type: 'text', text: { body: 'Hello' } }
export const hello = both({})
