/**
 * The tables whose rows move with a company, in an order in which they can be inserted: each after those that it refers to.
 * A test compares both lists with the catalogue.
 */
export const MOVED_TABLES = [
  'companies',
  'api_keys',
  'senders',
  'sender_routes',
  'sender_limits',
  'template_families',
  'templates',
  'missed_template_events',
  'account_events',
  'custom_fields',
  'contacts',
  'contact_changes',
  'contact_counts',
  'consents',
  'erased_keys',
  'contact_imports',
  'contact_import_refusals',
  'customers',
  'customer_identities',
  'daily_limits',
  'daily_limit_entries',
  'erasures',
  'conversations',
  'conversation_activity',
  'conversation_counts',
  'messages',
  'uploads',
  'upload_copies',
  'media',
  'message_changes',
  'message_reactions',
  'message_status_events',
  'message_usage',
  'scheduled_messages',
  'waiting_statuses',
  'idempotency_keys',
  'registrations',
  'envelopes',
  'deliveries',
  'delivery_attempts',
  'email_settings',
  'email_templates',
  'email_template_counts',
  'emails',
  'email_contents',
  'email_links',
  'email_clicks',
  'email_suppressions',
  'jobs',
] as const

export type MovedTable = (typeof MOVED_TABLES)[number]

/** The other tables, and why their rows stay. */
export const UNMOVED_TABLES = {
  console_sessions: 'the staff sign in again',
  inbound_bodies: 'bodies of several companies',
  inbound_events: 'an export waits until those of the company are handled',
  inbound_items: 'items of no company, or that failed: retry these before the move',
  live_listeners: 'of processes',
  migrations: 'of the installation',
  moving_files: 'of an import that runs',
  rate_limits: 'of a minute',
  service_secrets: 'of the installation',
  sign_in_links: 'the staff sign in again',
  sql_objects: 'of the installation',
  unhandled_counts: 'of client addresses',
} as const

/** The columns with secrets, which are encrypted with the passphrase of the move. */
export const SECRET_COLUMNS: Partial<Record<MovedTable, readonly string[]>> = {
  companies: ['media_secret'],
  api_keys: ['identity_secret'],
  senders: ['access_token', 'app_secret', 'webhook_secret'],
  registrations: ['secret', 'static_headers'],
  email_settings: ['smtp_url'],
  erasures: ['subject'],
}
