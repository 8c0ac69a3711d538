/**
 * The personal data of customers in each table; test/contacts/erasure.test.ts compares the list with the catalogue.
 *
 * - `none`: nothing about a customer, or counters and ids only.
 * - `erased`: an erasure removes it.
 * - `expires`: not searched by an erasure; the rows live as long as their table says, at most hours.
 */
export const PERSONAL_DATA = {
  // Without the values of events that may name a customer.
  account_events: 'none',
  api_keys: 'none',
  // The names are those of the company's own staff.
  assignees: 'none',
  companies: 'none',
  // Kept opt-outs are keyed hashes.
  consents: 'erased',
  // The names in both tables of the console are those of the company's own staff.
  console_sessions: 'none',
  contact_changes: 'none',
  contact_counts: 'none',
  contact_import_refusals: 'erased',
  // The list itself is in the blob store until its rows are written.
  contact_imports: 'expires',
  contacts: 'erased',
  conversation_activity: 'none',
  conversation_counts: 'none',
  conversations: 'erased',
  custom_fields: 'none',
  content_passes: 'none',
  customer_identities: 'erased',
  customers: 'erased',
  daily_limits: 'none',
  // Random names of files.
  discarded_files: 'none',
  deliveries: 'erased',
  delivery_attempts: 'erased',
  email_clicks: 'erased',
  email_contents: 'erased',
  email_links: 'erased',
  email_settings: 'none',
  // Of an erased person under a keyed hash.
  email_suppressions: 'erased',
  email_template_counts: 'none',
  email_templates: 'none',
  emails: 'erased',
  envelope_people: 'erased',
  envelopes: 'erased',
  // Keyed hashes, from which the person cannot be found.
  erased_keys: 'none',
  // Its subject is encrypted, and deleted when the erasure is complete.
  erasures: 'erased',
  idempotency_keys: 'erased',
  inbound_bodies: 'erased',
  // Events that wait to be processed; their content is processed as new.
  inbound_events: 'expires',
  inbound_items: 'erased',
  // The last error of a mail may name its recipient.
  jobs: 'erased',
  live_listeners: 'none',
  mailbox_passes: 'none',
  // Ids of contacts.
  mailbox_twins: 'none',
  media: 'erased',
  message_changes: 'erased',
  message_reactions: 'erased',
  message_status_events: 'erased',
  message_usage: 'none',
  messages: 'erased',
  migrations: 'none',
  missed_template_events: 'none',
  rate_limits: 'none',
  // Times alone.
  redeliveries: 'none',
  registrations: 'none',
  daily_limit_entries: 'erased',
  scheduled_messages: 'erased',
  // Answers about companies, keys and numbers.
  operator_keys: 'none',
  search_passes: 'none',
  sender_limits: 'none',
  sender_routes: 'none',
  senders: 'none',
  service_secrets: 'none',
  moving_files: 'none',
  company_imports: 'none',
  // Texts for all customers.
  quick_replies: 'none',
  sign_in_links: 'none',
  sql_objects: 'none',
  template_families: 'none',
  templates: 'none',
  unhandled_counts: 'none',
  upload_copies: 'none',
  // A file that only erased messages carried goes with them; one that waits to be sent names no customer.
  uploads: 'erased',
  waiting_statuses: 'erased',
} as const satisfies Record<string, 'none' | 'erased' | 'expires'>
