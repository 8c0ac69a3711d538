import { AT, CALL, TARGET } from '../platform-message.ts'
import { PLATFORM_MESSAGES } from '../platform-messages.ts'

const METADATA = { display_phone_number: '390655501234', phone_number_id: '106540352242922' }
const FROM = '393331234567'
const USER = 'IT.13491208655302741918'
const PARENT = 'IT.ENT.11815799212886844830'
const CONTACT = { profile: { name: 'Ada', username: 'ada' }, wa_id: FROM, user_id: USER, parent_user_id: PARENT }
const time = String(AT)

const body = (field: string, value: object, more: object = {}) => ({
  object: 'whatsapp_business_account',
  ...more,
  entry: [{ id: '901', time: AT, changes: [{ field, value }] }],
})
const ofNumber = (field: string, value: object, more: object = {}) =>
  body(field, { messaging_product: 'whatsapp', metadata: METADATA, ...value }, more)

const LISTS: Record<string, string> = { calls: 'calls', smb_message_echoes: 'message_echoes' }

const messages = PLATFORM_MESSAGES.map(({ field = 'messages', message, isOutbound, isHidden }) => {
  const named = isHidden
    ? { from_user_id: USER }
    : isOutbound
      ? { from: '390655501234', to: FROM, to_user_id: USER, to_parent_user_id: PARENT }
      : { from: FROM, from_user_id: USER, from_parent_user_id: PARENT }
  const id = field === 'calls' ? 'wacid.1' : 'wamid.1'
  const item = JSON.parse(
    JSON.stringify({ ...named, id, timestamp: time, ...message })
      .replaceAll(TARGET, 'wamid.0')
      .replaceAll(CALL, id),
  )
  return ofNumber(field, { contacts: isHidden ? [{ user_id: USER }] : [CONTACT], [LISTS[field] ?? 'messages']: [item] })
})

const TEXT = { type: 'text', text: { body: 'Hi' } }

/** The customer is named by `contacts` alone, and has no name. */
const nameless = ['messages', 'standby', 'smb_message_echoes', 'calls'].map((field) =>
  ofNumber(field, {
    contacts: [{ profile: { username: 'ada' }, wa_id: FROM, user_id: USER }],
    [LISTS[field] ?? 'messages']: [
      { id: 'wamid.1', timestamp: time, ...(field === 'calls' ? { event: 'connect' } : TEXT) },
    ],
  }),
)

const system = (type: string, members: object) =>
  ofNumber('messages', {
    messages: [
      { from: FROM, id: 'wamid.1', timestamp: time, type: 'system', system: { body: 'changed', type, ...members } },
    ],
  })

const status = (members: object, more: object = {}) =>
  ofNumber(
    'messages',
    { statuses: [{ id: 'wamid.1', timestamp: time, recipient_id: FROM, status: 'sent', ...members }] },
    more,
  )
const ofApp = (one: object) =>
  body('messages', { messaging_product: 'whatsapp', statuses: [one] }, { gs_app_id: 'app-1' })
const ERROR = {
  code: 131047,
  title: 'Re-engagement message',
  message: 'Re-engagement message',
  error_data: { details: 'More than 24 hours have passed.' },
  href: 'https://developers.example/error-codes',
}
const TEMPLATE = {
  message_template_id: 1_689_556_908_129_835,
  message_template_name: 'abandoned_cart',
  message_template_language: 'en_US',
}
const named = (type: string, more: object) => ({ app: 'AcmeApp', timestamp: AT * 1_000, version: 2, type, ...more })

/** Bodies that hold each member that a provider is known to write, beside the collected ones. */
export const PLATFORM_BODIES: readonly object[] = [
  ...messages,
  ...nameless,
  ofNumber('messages', {
    contacts: [CONTACT],
    messages: [
      {
        ...{ from: FROM, id: 'wamid.1', timestamp: time, type: 'unsupported' },
        errors: [{ code: 131051, title: 'Message type unknown', message: 'It is a poll' }],
      },
    ],
  }),
  ofNumber('messages', {
    contacts: [CONTACT],
    messages: [
      {
        from: FROM,
        id: 'wamid.1',
        timestamp: time,
        type: 'text',
        text: { body: 'Hi' },
        context: { from: '390655501234', from_user_id: USER, id: 'wamid.0', gs_id: 'aa-bb' },
        user_actions: [{ action_type: 'marketing_messages_link_click' }],
      },
    ],
  }),
  system('user_changed_number', { wa_id: '393339999999', user_id: 'IT.2', previous_user_id: 'IT.1' }),
  system('user_changed_user_id', { user_id: 'IT.2', previous_user_id: 'IT.1', previous_parent_user_id: 'IT.ENT.1' }),
  status({
    recipient_user_id: USER,
    recipient_parent_user_id: PARENT,
    biz_opaque_callback_data: '90217',
    conversation: { id: 'c1', expiration_timestamp: time, origin: { type: 'utility' } },
    pricing: { billable: true, pricing_model: 'PMP', type: 'regular', category: 'utility' },
  }),
  status({ pricing: { billable: false, category: 'utility' } }),
  status({ status: 'failed', errors: [ERROR] }),
  status({ status: 'failed', errors: [{ ...ERROR, message: 'Too late', error_data: undefined }] }),
  status({ status: 'read', recipient_type: 'group', recipient_id: 'G1', recipient_participant_id: FROM }),
  status({ type: 'call', status: 'ACCEPTED' }),
  status({ type: 'payment', status: 'captured', payment: { reference_id: 'order-1' } }),
  ofApp({ id: 'wamid.1', gs_id: 'aa-bb', status: 'enqueued', timestamp: AT * 1_000 }),
  ofApp({ gs_id: 'aa-bb', status: 'failed', code: 1002, reason: 'Not on WhatsApp', timestamp: AT * 1_000 }),
  ofNumber('messages', { errors: [{ code: 130429, title: 'Rate limit hit', message: 'Rate limit hit' }] }),
  ofNumber('calls', {
    contacts: [CONTACT],
    calls: [
      {
        id: 'wacid.1',
        from: FROM,
        from_user_id: USER,
        to: '390655501234',
        event: 'terminate',
        direction: 'BUSINESS_INITIATED',
        timestamp: time,
        status: 'FAILED',
        start_time: time,
        end_time: String(AT + 9),
        duration: 9,
        biz_opaque_callback_data: 'x',
        deeplink_payload: 'y',
        cta_payload: 'z',
        errors: [{ code: 138_001, title: 'Call failed', message: 'The call failed' }],
      },
    ],
  }),
  ofNumber('calls', {
    calls: [
      { id: 'wacid.1', from: FROM, event: 'terminate', timestamp: time, duration: 9 },
      {
        id: 'wacid.2',
        to: FROM,
        event: 'terminate',
        timestamp: time,
        direction: 'BUSINESS_INITIATED',
        status: ['FAILED'],
      },
    ],
  }),
  body('message_template_status_update', {
    ...TEMPLATE,
    event: 'REJECTED',
    reason: 'INVALID_FORMAT',
    message_template_category: 'MARKETING',
    rejection_info: { reason: 'A floating variable', recommendation: 'Add words' },
  }),
  body('message_template_status_update', {
    ...TEMPLATE,
    event: 'PAUSED',
    reason: 'NONE',
    other_info: { title: 'FIRST_PAUSE', description: 'Low quality' },
  }),
  body('message_template_status_update', { ...TEMPLATE, event: 'DISABLED', disable_info: { disable_date: AT } }),
  body('message_template_quality_update', {
    ...TEMPLATE,
    previous_quality_score: 'GREEN',
    new_quality_score: 'YELLOW',
  }),
  body('template_category_update', {
    ...TEMPLATE,
    previous_category: 'UTILITY',
    new_category: 'MARKETING',
    correct_category: 'MARKETING',
  }),
  body('message_template_components_update', {
    ...TEMPLATE,
    message_template_title: 'Title',
    message_template_element: 'Body',
    message_template_footer: 'Footer',
    message_template_buttons: [
      {
        message_template_button_type: 'URL',
        message_template_button_text: 'Open',
        message_template_button_url: 'https://example.com',
        message_template_button_phone_number: '+390655501234',
      },
    ],
  }),
  body('phone_number_quality_update', {
    display_phone_number: '390655501234',
    event: 'UPGRADE',
    current_limit: 'TIER_10K',
    old_limit: 'TIER_1K',
    max_daily_conversations_per_business: 'TIER_2K',
  }),
  body('phone_number_quality_update', {
    display_phone_number: '390655501234',
    event: 'ONBOARDING',
    current_limit: 'TIER_10K',
  }),
  body('account_update', {
    event: 'ACCOUNT_RESTRICTION',
    restriction_info: [{ restriction_type: 'RESTRICTED_BIZ_INITIATED_MESSAGING', expiration: AT }],
    ban_info: { waba_ban_state: 'DISABLE', waba_ban_date: '1 March 2026' },
    waba_info: { waba_id: '901', owner_business_id: '77' },
  }),
  ofNumber('user_preferences', {
    contacts: [CONTACT],
    user_preferences: [
      {
        wa_id: FROM,
        user_id: USER,
        parent_user_id: PARENT,
        category: 'marketing_messages',
        value: 'stop',
        timestamp: AT,
        detail: 'User requested to stop',
      },
    ],
  }),
  ofNumber('user_preferences', {
    contacts: [{ wa_id: FROM, user_id: USER }],
    user_preferences: [
      { user_id: USER, category: 'marketing_messages', value: 'resume', timestamp: AT },
      { wa_id: FROM, category: 'marketing_messages', value: 'resume', timestamp: AT },
    ],
  }),
  ofNumber('user_id_update', {
    contacts: [CONTACT],
    user_id_update: [
      {
        wa_id: FROM,
        user_id: { previous: 'IT.1', current: 'IT.2' },
        parent_user_id: { previous: 'IT.ENT.1', current: 'IT.ENT.2' },
        detail: 'The number changed',
        timestamp: time,
      },
    ],
  }),
  ofNumber('user_id_update', {
    contacts: [{ wa_id: FROM, user_id: USER }],
    user_id_update: [{ user_id: { current: 'IT.2' }, timestamp: time }],
  }),
  named('template-event', {
    payload: {
      id: 'b2f5',
      status: 'rejected',
      elementName: 'order_ready',
      languageCode: 'it',
      rejectedReason: 'INVALID_FORMAT',
      description: 'A floating variable',
      category: 'MARKETING',
    },
  }),
  named('template-event', {
    payload: {
      ...{ id: 'b2f5', elementName: 'order_ready', languageCode: 'it', type: 'category-update' },
      category: { old: 'UTILITY', new: 'MARKETING' },
    },
  }),
  named('template-event', {
    payload: {
      ...{ id: 'b2f5', elementName: 'order_ready', languageCode: 'it', type: 'quality-update' },
      quality: { old: 'HIGH', new: 'LOW' },
    },
  }),
]
