/** Titles of mutants that may survive, and the reasons. */
export const ACCEPTED: Readonly<Record<string, string>> = {
  'src/console/sql/live-console-sessions.sql: live_console_sessions does not compare (key.company_id, key.client_id) = (session.company_id, session.client_id)':
    'client_id is the primary key of api_keys: it is unique in the installation.',
}
