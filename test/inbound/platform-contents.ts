import {
  AD,
  both,
  CARD,
  file,
  hello,
  interactive,
  LATER,
  LATER_ISO,
  LOCATION,
  media,
  type PlatformMessage,
  POST,
  PRODUCT,
  replied,
  SHARED,
  TOO_LARGE,
  text,
} from './platform-message.ts'

/** Contents that customers send. */
export const CONTENTS: readonly PlatformMessage[] = [
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
]
