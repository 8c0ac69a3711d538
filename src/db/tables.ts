/** One row for each table; test/schema/catalogue.test.ts compares the list with the database. */
export type Table = {
  readonly name: string
  /** `expires`: not searched by an erasure; rows live for hours at most. */
  readonly personal: 'none' | 'erased' | 'expires'
  /** Why the company doesn't lead the primary key. */
  readonly global?: string
  /** Why rows stay when their company moves to another installation. */
  readonly stays?: string
  /** Columns encrypted at rest, and with the passphrase during a move. */
  readonly sealed?: readonly string[]
  /** Rows to delete by age alone; must match the table comment. */
  readonly expires?: Expiry
}

export type Expiry = {
  readonly key: readonly string[]
  readonly column: string
  readonly hours: number
  /** Adds a setting's days to `hours`; rows don't expire without it. */
  readonly setting?: keyof LifetimeSettings
  /** Rows per statement, where bodies up to 4 MiB make a thousand too many. */
  readonly batch?: number
}

export type LifetimeSettings = { readonly messageDays: number | undefined; readonly deliveryLogDays: number }

const DAY = 24

/** Moved tables come first, in insert order (foreign keys). */
export const TABLES: readonly Table[] = [
  { name: 'companies', personal: 'none', global: 'the companies themselves', sealed: ['media_secret'] },
  { name: 'api_keys', personal: 'none', global: 'how a request finds its company', sealed: ['identity_secret'] },
  { name: 'senders', personal: 'none', sealed: ['access_token', 'app_secret', 'webhook_secret'] },
  { name: 'sender_routes', personal: 'none', global: 'how an event finds its company' },
  { name: 'sender_limits', personal: 'none' },
  { name: 'template_families', personal: 'none' },
  { name: 'templates', personal: 'none' },
  { name: 'missed_template_events', personal: 'none' },
  {
    name: 'account_events',
    personal: 'none',
    expires: { key: ['company_id', 'id'], column: 'received_at', hours: 90 * DAY },
  },
  { name: 'custom_fields', personal: 'none' },
  { name: 'assignees', personal: 'none' },
  { name: 'quick_replies', personal: 'none' },
  { name: 'contacts', personal: 'erased' },
  { name: 'contact_changes', personal: 'none' },
  { name: 'contact_counts', personal: 'none' },
  // Kept opt-outs are keyed hashes.
  { name: 'consents', personal: 'erased' },
  { name: 'mailbox_twins', personal: 'none' },
  // Keyed hashes that don't reveal the person.
  {
    name: 'erased_keys',
    personal: 'none',
    expires: { key: ['company_id', 'hash'], column: 'erased_at', hours: 30 * DAY },
  },
  // Until its rows are written, the list itself is in the blob store.
  { name: 'contact_imports', personal: 'expires' },
  { name: 'contact_import_refusals', personal: 'erased' },
  { name: 'customers', personal: 'erased' },
  { name: 'customer_identities', personal: 'erased' },
  { name: 'daily_limits', personal: 'none' },
  { name: 'daily_limit_entries', personal: 'erased' },
  // Encrypted, and deleted with the completed erasure.
  { name: 'erasures', personal: 'erased', sealed: ['subject'] },
  { name: 'conversations', personal: 'erased' },
  { name: 'conversation_activity', personal: 'none' },
  { name: 'conversation_counts', personal: 'none' },
  { name: 'messages', personal: 'erased' },
  // Files only in erased messages are removed with them; files not yet sent have no customer.
  { name: 'uploads', personal: 'erased' },
  { name: 'upload_copies', personal: 'none' },
  { name: 'media', personal: 'erased' },
  {
    name: 'message_changes',
    personal: 'erased',
    expires: { key: ['company_id', 'wamid'], column: 'occurred_at', hours: 30 * DAY },
  },
  {
    name: 'message_reactions',
    personal: 'erased',
    expires: { key: ['company_id', 'wamid'], column: 'occurred_at', hours: 0, setting: 'messageDays' },
  },
  {
    name: 'message_status_events',
    personal: 'erased',
    expires: { key: ['company_id', 'message_id', 'status'], column: 'created_at', hours: 30 * DAY },
  },
  { name: 'message_usage', personal: 'none' },
  {
    name: 'scheduled_messages',
    personal: 'erased',
    expires: { key: ['company_id', 'id'], column: 'ended_at', hours: 30 * DAY },
  },
  {
    name: 'waiting_statuses',
    personal: 'erased',
    expires: { key: ['company_id', 'id'], column: 'created_at', hours: DAY },
  },
  {
    name: 'idempotency_keys',
    personal: 'erased',
    expires: { key: ['company_id', 'id'], column: 'created_at', hours: 2 * DAY },
  },
  { name: 'registrations', personal: 'none', sealed: ['secret', 'static_headers'] },
  { name: 'redeliveries', personal: 'none' },
  { name: 'envelopes', personal: 'erased' },
  // Envelopes' days are dropped at the end of the next.
  {
    name: 'envelope_people',
    personal: 'erased',
    expires: {
      key: ['company_id', 'person', 'event', 'event_id', 'day'],
      column: 'created_at',
      hours: 2 * DAY,
      setting: 'deliveryLogDays',
    },
  },
  { name: 'deliveries', personal: 'erased' },
  { name: 'delivery_attempts', personal: 'erased' },
  { name: 'email_settings', personal: 'none', sealed: ['smtp_url'] },
  { name: 'email_templates', personal: 'none' },
  { name: 'email_template_counts', personal: 'none' },
  { name: 'emails', personal: 'erased' },
  { name: 'email_contents', personal: 'erased' },
  { name: 'email_links', personal: 'erased' },
  {
    name: 'email_clicks',
    personal: 'erased',
    expires: { key: ['company_id', 'email_id', 'id'], column: 'at', hours: 90 * DAY },
  },
  { name: 'email_suppressions', personal: 'erased' },
  // A mail's last error may contain its recipient.
  {
    name: 'jobs',
    personal: 'erased',
    global: 'work of any company, claimed across all of them',
    expires: { key: ['id'], column: 'failed_at', hours: 30 * DAY },
  },
  {
    name: 'console_sessions',
    personal: 'none',
    global: 'how a request of the console finds its company',
    stays: 'the staff sign in again',
    expires: { key: ['id'], column: 'idle_until', hours: 0 },
  },
  { name: 'company_imports', personal: 'none', stays: 'belongs to the import' },
  {
    name: 'content_passes',
    personal: 'none',
    global: 'a sweep over all companies',
    stays: 'belongs to the installation',
  },
  { name: 'discarded_files', personal: 'none', stays: 'belongs to the media storage' },
  {
    name: 'inbound_bodies',
    personal: 'erased',
    global: 'the bytes of raw events',
    stays: 'may belong to several companies',
    expires: { key: ['event_id'], column: 'received_at', hours: 30 * DAY, batch: 100 },
  },
  // Waiting events are processed as new.
  {
    name: 'inbound_events',
    personal: 'expires',
    global: 'raw events, not read yet',
    stays: 'an export waits until they are handled',
  },
  {
    name: 'inbound_items',
    personal: 'erased',
    global: 'items of an unknown company, or failed ones',
    stays: 'retry failed items before the move',
    expires: { key: ['id'], column: 'received_at', hours: 30 * DAY, batch: 100 },
  },
  {
    name: 'live_listeners',
    personal: 'none',
    global: 'processes with open streams of any company',
    stays: 'belongs to processes',
  },
  {
    name: 'mailbox_passes',
    personal: 'none',
    global: 'a sweep over all companies',
    stays: 'belongs to the installation',
  },
  { name: 'migrations', personal: 'none', global: 'the ledger', stays: 'belongs to the installation' },
  { name: 'moving_files', personal: 'none', stays: 'belongs to a running import' },
  { name: 'rate_limits', personal: 'none', global: 'counts by company or by address', stays: 'lasts a minute' },
  {
    name: 'search_passes',
    personal: 'none',
    global: 'a sweep over all companies',
    stays: 'belongs to the installation',
  },
  {
    name: 'operator_keys',
    personal: 'none',
    global: 'keys of the operator',
    stays: 'belongs to the installation',
    sealed: ['answer_body'],
    expires: { key: ['id'], column: 'created_at', hours: 2 * DAY },
  },
  {
    name: 'service_secrets',
    personal: 'none',
    global: 'keys of the service itself',
    stays: 'belongs to the installation',
    sealed: ['value'],
  },
  {
    name: 'sign_in_links',
    personal: 'none',
    global: 'how a sign-in finds its company',
    stays: 'the staff sign in again',
    expires: { key: ['digest'], column: 'expires_at', hours: 0 },
  },
  {
    name: 'sql_objects',
    personal: 'none',
    global: 'the ledger of functions, views and types',
    stays: 'belongs to the installation',
  },
  {
    name: 'unhandled_counts',
    personal: 'none',
    global: 'counts by address',
    stays: 'belongs to client addresses',
    expires: { key: ['address'], column: 'window_ends_at', hours: 0 },
  },
]
