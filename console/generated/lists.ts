// Generated from openapi.json by `npm run generate`. Do not edit.

/** The texts of a contact, by their names in the record and in the body of a write. */
export const CONTACT_TEXTS = [
  { name: 'email', body: 'email' },
  { name: 'phone', body: 'phone' },
  { name: 'first_name', body: 'first_name' },
  { name: 'last_name', body: 'last_name' },
  { name: 'status', body: 'status' },
  { name: 'source', body: 'source' },
  { name: 'source_type', body: 'source_type' },
  { name: 'external_id', body: 'external_id' },
] as const

/** The events that a receiver can subscribe to. */
export const EVENTS = [
  { name: 'whatsapp.message.received', label: 'Messages' },
  { name: 'contact.changed', label: 'Changes of contacts' },
  { name: 'email.status', label: 'Statuses of emails' },
  { name: 'whatsapp.message.status', label: 'Statuses of messages' },
  { name: 'whatsapp.template.status', label: 'Statuses of templates' },
] as const
