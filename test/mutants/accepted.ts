/** Titles of mutants that may survive, and the reasons. */
export const ACCEPTED: Readonly<Record<string, string>> = {
  'src/sessions/sql/live-console-sessions.sql: live_console_sessions does not compare (key.company_id, key.client_id) = (session.company_id, session.client_id)':
    'client_id is the primary key of api_keys: it is unique in the installation.',
  'src/people/contact-store.ts: isOptedOut does not compare opt_outs.company_id = ${companyId}':
    'It only saves calls of is_opted_out, which compares the company.',
  'src/conversations/sql/record-inbound.sql: record_inbound does not compare (change.company_id, change.target_wamid) = (item.company_id, item.wamid)':
    'It only saves a call of apply_message_changes, which compares the company.',
  'src/webhooks/sql/insert-deliveries.sql: insert_deliveries does not compare (stored.company_id, stored.event, stored.event_id, stored.delivery_ids) = (requested.company_id, requested.event, requested.event_id, requested.delivery_ids)':
    'delivery_ids are of one sequence of the installation: the statement has just taken them.',
}
