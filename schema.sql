-- The tables that all migrations create together. Generated: npm run generate

create table account_events (
  company_id bigint not null,
  id bigint not null generated always as identity,
  waba_account_id text,
  sender_id bigint,
  field text not null,
  event text,
  severity text not null,
  details jsonb,
  digest bytea not null,
  occurred_at timestamp with time zone,
  received_at timestamp with time zone not null default now(),
  constraint account_events_by_digest UNIQUE (company_id, digest),
  constraint account_events_pkey PRIMARY KEY (company_id, id),
  constraint account_events_company_id_fkey FOREIGN KEY (company_id) REFERENCES companies(id),
  constraint account_events_severity_check CHECK ((severity = ANY (ARRAY['info'::text, 'warning'::text, 'critical'::text])))
);
CREATE INDEX account_events_by_age ON public.account_events USING btree (received_at);
CREATE INDEX account_events_by_hour ON public.account_events USING btree (company_id, received_at);
CREATE INDEX account_events_by_id ON public.account_events USING btree (id);

create table api_keys (
  client_id text not null,
  company_id bigint not null,
  name text not null,
  digest bytea not null,
  permissions text[] not null,
  allowed_origins text[] not null default '{}'::text[],
  expires_at timestamp with time zone,
  created_at timestamp with time zone not null default now(),
  revoked_at timestamp with time zone,
  key_limit_per_minute integer,
  address_limit_per_minute integer,
  writable_fields text[],
  identity_secret text,
  stored_bytes_per_hour bigint,
  constraint api_keys_pkey PRIMARY KEY (client_id),
  constraint api_keys_company_id_fkey FOREIGN KEY (company_id) REFERENCES companies(id),
  constraint api_keys_address_limit_per_minute_check CHECK ((address_limit_per_minute > 0)),
  constraint api_keys_key_limit_per_minute_check CHECK ((key_limit_per_minute > 0)),
  constraint api_keys_permissions_check CHECK ((permissions <> '{}'::text[])),
  constraint api_keys_stored_bytes_per_hour_check CHECK ((stored_bytes_per_hour > 0))
);
CREATE INDEX api_keys_by_company ON public.api_keys USING btree (company_id, created_at);
CREATE INDEX api_keys_with_origins ON public.api_keys USING btree (client_id) WHERE ((allowed_origins <> '{}'::text[]) AND (revoked_at IS NULL));

create table assignees (
  company_id bigint not null,
  name text not null,
  signed_in_at timestamp with time zone,
  constraint assignees_pkey PRIMARY KEY (company_id, name),
  constraint assignees_company_id_fkey FOREIGN KEY (company_id) REFERENCES companies(id)
);

create table companies (
  id bigint not null generated always as identity,
  name text not null,
  rate_limit_per_minute integer not null default 100,
  created_at timestamp with time zone not null default now(),
  deleted_at timestamp with time zone,
  closed_at timestamp with time zone,
  media_secret text,
  read_receipts boolean not null default true,
  default_country text,
  registration_limit integer not null default 50,
  session_rate_limit_per_minute integer not null default 3000,
  agents_may_erase boolean not null default false,
  constraint companies_pkey PRIMARY KEY (id),
  constraint companies_default_country_check CHECK ((default_country ~ '^[A-Z]{2}$'::text)),
  constraint companies_rate_limit_per_minute_check CHECK ((rate_limit_per_minute > 0)),
  constraint companies_registration_limit_check CHECK ((registration_limit > 0)),
  constraint companies_session_rate_limit_check CHECK ((session_rate_limit_per_minute > 0))
);
CREATE INDEX companies_closed ON public.companies USING btree (id) WHERE (closed_at IS NOT NULL);

create table company_imports (
  company_id bigint not null,
  claim_id uuid not null,
  lease_until timestamp with time zone not null,
  constraint company_imports_pkey PRIMARY KEY (company_id)
);

create table consents (
  company_id bigint not null,
  id bigint not null generated always as identity,
  channel text not null,
  identity text,
  contact_id bigint,
  value boolean not null,
  said_at timestamp with time zone not null,
  first_said_at timestamp with time zone,
  source text not null,
  client_id text,
  event_id text,
  ip text,
  constraint consents_pkey PRIMARY KEY (company_id, id),
  constraint consents_company_id_contact_id_fkey FOREIGN KEY (company_id, contact_id) REFERENCES contacts(company_id, id),
  constraint consents_company_id_fkey FOREIGN KEY (company_id) REFERENCES companies(id),
  constraint consents_channel_check CHECK ((channel = ANY (ARRAY['email'::text, 'whatsapp'::text]))),
  constraint consents_has_person CHECK (((identity IS NOT NULL) OR (contact_id IS NOT NULL)))
);
CREATE INDEX consents_by_contact ON public.consents USING btree (company_id, contact_id, channel, said_at DESC, id DESC);
CREATE INDEX consents_by_identity ON public.consents USING btree (company_id, identity, channel, said_at DESC, id DESC);
CREATE UNIQUE INDEX consents_by_event ON public.consents USING btree (company_id, event_id, channel, identity) WHERE (event_id IS NOT NULL);

create table console_sessions (
  id bigint not null generated always as identity,
  digest bytea not null,
  company_id bigint,
  client_id text not null,
  name text not null,
  permissions text[] not null,
  agent text not null,
  created_at timestamp with time zone not null default now(),
  seen_at timestamp with time zone not null default now(),
  idle_until timestamp with time zone not null,
  ends_at timestamp with time zone not null,
  role text not null default 'agent'::text,
  is_of_key boolean not null default false,
  constraint console_sessions_by_digest UNIQUE (digest),
  constraint console_sessions_pkey PRIMARY KEY (id),
  constraint console_sessions_company_id_fkey FOREIGN KEY (company_id) REFERENCES companies(id),
  constraint console_sessions_role_check CHECK ((role = ANY (ARRAY['agent'::text, 'developer'::text, 'admin'::text])))
);
CREATE INDEX console_sessions_by_company ON public.console_sessions USING btree (company_id, id);
CREATE INDEX console_sessions_by_end ON public.console_sessions USING btree (idle_until);

create table contact_changes (
  company_id bigint not null,
  id bigint not null generated always as identity,
  change integer not null,
  constraint contact_changes_pkey PRIMARY KEY (company_id, id),
  constraint contact_changes_company_id_fkey FOREIGN KEY (company_id) REFERENCES companies(id)
);

create table contact_counts (
  company_id bigint not null,
  living bigint not null,
  constraint contact_counts_pkey PRIMARY KEY (company_id),
  constraint contact_counts_company_id_fkey FOREIGN KEY (company_id) REFERENCES companies(id)
);

create table contact_import_refusals (
  company_id bigint not null,
  import_id bigint not null,
  line integer not null,
  reason text not null,
  fields text[] not null,
  constraint contact_import_refusals_pkey PRIMARY KEY (company_id, import_id, line),
  constraint contact_import_refusals_company_id_import_id_fkey FOREIGN KEY (company_id, import_id) REFERENCES contact_imports(company_id, id)
);

create table contact_imports (
  company_id bigint not null,
  id bigint not null generated by default as identity,
  format text not null,
  columns text[] not null,
  storage_key text,
  size_bytes bigint not null,
  rows integer not null,
  client_id text,
  status text not null default 'queued'::text,
  failure text,
  read_bytes bigint not null,
  read_lines integer not null,
  created integer not null default 0,
  updated integer not null default 0,
  unchanged integer not null default 0,
  refused integer not null default 0,
  created_at timestamp with time zone not null default now(),
  started_at timestamp with time zone,
  ended_at timestamp with time zone,
  default_country text,
  delimiter text,
  encoding text,
  profile text,
  consent_words jsonb,
  constraint contact_imports_pkey PRIMARY KEY (company_id, id),
  constraint contact_imports_company_id_fkey FOREIGN KEY (company_id) REFERENCES companies(id),
  constraint contact_imports_format_check CHECK ((format = ANY (ARRAY['csv'::text, 'ndjson'::text]))),
  constraint contact_imports_status_check CHECK ((status = ANY (ARRAY['receiving'::text, 'queued'::text, 'running'::text, 'completed'::text, 'failed'::text, 'cancelled'::text])))
);
CREATE INDEX contact_imports_by_end ON public.contact_imports USING btree (ended_at) WHERE (ended_at IS NOT NULL);
CREATE INDEX contact_imports_with_list ON public.contact_imports USING btree (created_at) WHERE (storage_key IS NOT NULL);

create table contacts (
  company_id bigint not null,
  id bigint not null generated by default as identity,
  email text,
  phone text,
  first_name text,
  last_name text,
  status text not null default 'active'::text,
  source text not null,
  source_type text not null,
  custom_fields jsonb not null default '{}'::jsonb,
  tags text[] not null default '{}'::text[],
  email_consent boolean,
  whatsapp_consent boolean,
  external_id text,
  external_connection_id bigint,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  deleted_at timestamp with time zone,
  erased_at timestamp with time zone,
  email_key text,
  phone_identity text,
  search_text text not null default ''::text,
  constraint contacts_pkey PRIMARY KEY (company_id, id)
);
CREATE INDEX contacts_by_creation ON public.contacts USING btree (company_id, created_at, id) WHERE (deleted_at IS NULL);
CREATE INDEX contacts_by_filter ON public.contacts USING gin (company_id, tags, custom_fields jsonb_path_ops, status, email_consent, whatsapp_consent) WITH (gin_pending_list_limit='2048') WHERE (deleted_at IS NULL);
CREATE INDEX contacts_by_phone ON public.contacts USING btree (company_id, phone_identity, id) WHERE ((phone_identity IS NOT NULL) AND (deleted_at IS NULL));
CREATE INDEX contacts_by_update ON public.contacts USING btree (company_id, updated_at, id) WHERE (deleted_at IS NULL);
CREATE INDEX contacts_by_words ON public.contacts USING gin (company_id, search_text gin_trgm_ops) WITH (gin_pending_list_limit='2048') WHERE (deleted_at IS NULL);
CREATE UNIQUE INDEX contacts_by_email ON public.contacts USING btree (company_id, COALESCE(email_key, (chr(1114111) || lpad((id)::text, 16, '0'::text))) COLLATE "C") WHERE (deleted_at IS NULL);

create table content_passes (
  number integer not null,
  started_at timestamp with time zone not null default now(),
  ended_at timestamp with time zone,
  constraint content_passes_pkey PRIMARY KEY (number)
);

create table conversation_activity (
  company_id bigint not null,
  conversation_id bigint not null,
  active_at timestamp with time zone not null,
  sender_id bigint not null,
  status text not null default 'open'::text,
  is_unread boolean not null default false,
  assignee text,
  constraint conversation_activity_pkey PRIMARY KEY (company_id, conversation_id),
  constraint conversation_activity_company_id_conversation_id_fkey FOREIGN KEY (company_id, conversation_id) REFERENCES conversations(company_id, id),
  constraint conversation_activity_assignee_check CHECK ((length(assignee) <= 100)),
  constraint conversation_activity_status_check CHECK ((status = ANY (ARRAY['open'::text, 'closed'::text, 'snoozed'::text])))
);
CREATE INDEX conversation_activity_assigned ON public.conversation_activity USING btree (company_id, assignee, active_at, conversation_id) WHERE (assignee IS NOT NULL);
CREATE INDEX conversation_activity_by_sender ON public.conversation_activity USING btree (company_id, sender_id, active_at, conversation_id);
CREATE INDEX conversation_activity_by_status ON public.conversation_activity USING btree (company_id, status, active_at, conversation_id);
CREATE INDEX conversation_activity_by_time ON public.conversation_activity USING btree (company_id, active_at, conversation_id);
CREATE INDEX conversation_activity_unread ON public.conversation_activity USING btree (company_id, active_at, conversation_id) WHERE is_unread;

create table conversation_counts (
  company_id bigint not null,
  total bigint not null,
  writer smallint not null default (pg_backend_pid() % 16),
  constraint conversation_counts_pkey PRIMARY KEY (company_id, writer),
  constraint conversation_counts_company_id_fkey FOREIGN KEY (company_id) REFERENCES companies(id)
);

create table conversations (
  company_id bigint not null,
  id bigint not null generated always as identity,
  sender_id bigint not null,
  profile_name text,
  status text not null default 'open'::text,
  unread_messages integer not null default 0,
  message_count bigint not null default 0,
  expired_count bigint not null default 0,
  last_text text,
  last_direction text,
  last_message_at timestamp with time zone,
  last_inbound_at timestamp with time zone,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  next_message_at timestamp with time zone,
  customer_id bigint not null,
  user_id text,
  controlled_by text,
  controlled_at timestamp with time zone,
  profile_search text,
  referral jsonb,
  constraint conversations_by_customer UNIQUE (company_id, sender_id, customer_id),
  constraint conversations_pkey PRIMARY KEY (company_id, id),
  constraint conversations_company_id_customer_id_fkey FOREIGN KEY (company_id, customer_id) REFERENCES customers(company_id, id),
  constraint conversations_company_id_sender_id_fkey FOREIGN KEY (company_id, sender_id) REFERENCES senders(company_id, id),
  constraint conversations_controlled_by_check CHECK ((controlled_by = ANY (ARRAY['business'::text, 'agent'::text]))),
  constraint conversations_last_direction_check CHECK ((last_direction = ANY (ARRAY['inbound'::text, 'outbound'::text]))),
  constraint conversations_status_check CHECK ((status = ANY (ARRAY['open'::text, 'closed'::text, 'snoozed'::text])))
);
CREATE INDEX conversations_by_profile ON public.conversations USING gin (company_id, profile_search gin_trgm_ops) WITH (gin_pending_list_limit='2048') WHERE (profile_search IS NOT NULL);
CREATE INDEX conversations_of_customer ON public.conversations USING btree (company_id, customer_id);

create table custom_fields (
  company_id bigint not null,
  id bigint not null generated always as identity,
  key text not null,
  display_name text not null,
  type text not null,
  category text,
  visibility boolean not null default true,
  source text not null,
  allowed_values jsonb,
  metadata jsonb,
  created_at timestamp with time zone not null default now(),
  position integer,
  retired_at timestamp with time zone,
  constraint custom_fields_by_key UNIQUE (company_id, key),
  constraint custom_fields_pkey PRIMARY KEY (company_id, id),
  constraint custom_fields_company_id_fkey FOREIGN KEY (company_id) REFERENCES companies(id),
  constraint custom_fields_type_check CHECK ((type = ANY (ARRAY['text'::text, 'number'::text, 'boolean'::text, 'date'::text, 'datetime'::text, 'select'::text, 'json'::text])))
);

create table customer_identities (
  company_id bigint not null,
  customer_id bigint not null,
  identity text not null,
  account text,
  reported_at timestamp with time zone not null,
  retired_at timestamp with time zone,
  left_at timestamp with time zone,
  constraint customer_identities_pkey PRIMARY KEY (company_id, customer_id, identity),
  constraint customer_identities_company_id_customer_id_fkey FOREIGN KEY (company_id, customer_id) REFERENCES customers(company_id, id),
  constraint customer_identities_left CHECK (((retired_at IS NULL) = (left_at IS NULL)))
);
CREATE UNIQUE INDEX customer_identities_by_identity ON public.customer_identities USING btree (company_id, identity) WHERE ((retired_at IS NULL) OR (identity !~ '^[0-9]'::text));

create table customers (
  company_id bigint not null,
  id bigint not null generated by default as identity,
  contact_id bigint not null,
  phone text,
  created_at timestamp with time zone not null default now(),
  constraint customers_pkey PRIMARY KEY (company_id, id),
  constraint customers_company_id_contact_id_fkey FOREIGN KEY (company_id, contact_id) REFERENCES contacts(company_id, id),
  constraint customers_company_id_fkey FOREIGN KEY (company_id) REFERENCES companies(id)
);
CREATE INDEX customers_by_contact ON public.customers USING btree (company_id, contact_id);

create table daily_limit_entries (
  company_id bigint not null,
  scope text not null,
  customer_id bigint not null,
  message_id bigint not null,
  counted_at timestamp with time zone not null,
  constraint daily_limit_entries_pkey PRIMARY KEY (company_id, scope, customer_id),
  constraint daily_limit_entries_company_id_customer_id_fkey FOREIGN KEY (company_id, customer_id) REFERENCES customers(company_id, id),
  constraint daily_limit_entries_company_id_scope_fkey FOREIGN KEY (company_id, scope) REFERENCES daily_limits(company_id, scope)
);
CREATE INDEX daily_limit_entries_by_age ON public.daily_limit_entries USING btree (company_id, scope, counted_at);
CREATE INDEX daily_limit_entries_by_message ON public.daily_limit_entries USING btree (company_id, message_id);

create table daily_limits (
  company_id bigint not null,
  scope text not null,
  used integer not null default 0,
  constraint daily_limits_pkey PRIMARY KEY (company_id, scope),
  constraint daily_limits_company_id_fkey FOREIGN KEY (company_id) REFERENCES companies(id)
);

create table deliveries (
  company_id bigint not null,
  id bigint not null default (((((now() AT TIME ZONE 'UTC'::text))::date - '1970-01-01'::date) * (1000000000)::bigint) + nextval('delivery_ids'::regclass)),
  day integer not null default (((now() AT TIME ZONE 'UTC'::text))::date - '1970-01-01'::date),
  registration_id bigint not null,
  lane text not null generated always as ((((company_id)::text || '.'::text) || (registration_id)::text)) stored,
  event_id text not null,
  status text not null default 'pending'::text,
  round integer not null default 1,
  attempts integer not null default 0,
  due_at timestamp with time zone not null default now(),
  faults integer not null default 0,
  lease_expiries integer not null default 0,
  claim_id uuid,
  lease_until timestamp with time zone,
  failed_at timestamp with time zone,
  last_error text,
  created_at timestamp with time zone not null default now(),
  status_code integer,
  response text,
  duration_ms integer,
  sent_at timestamp with time zone,
  logged_at timestamp with time zone,
  event text not null,
  renewed_at timestamp with time zone,
  conversation_id bigint,
  waits_for bigint,
  finished_at timestamp with time zone,
  constraint deliveries_pkey PRIMARY KEY (id, company_id, day),
  constraint deliveries_failed_without_claim CHECK (((failed_at IS NULL) OR (claim_id IS NULL))),
  constraint deliveries_id_has_day CHECK (((id / 1000000000) = day)),
  constraint deliveries_last_error_check CHECK ((length(last_error) <= 500)),
  constraint deliveries_leased_with_claim CHECK (((claim_id IS NULL) = (lease_until IS NULL))),
  constraint deliveries_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'delivered'::text, 'dead'::text, 'skipped'::text])))
) partition by range (day);
CREATE INDEX deliveries_by_status ON ONLY public.deliveries USING btree (company_id, registration_id, status, id);
CREATE INDEX deliveries_failed ON ONLY public.deliveries USING btree (failed_at) WHERE (failed_at IS NOT NULL);
CREATE INDEX deliveries_held_back ON ONLY public.deliveries USING btree (waits_for) WHERE (waits_for IS NOT NULL);
CREATE INDEX deliveries_in_order ON ONLY public.deliveries USING btree (company_id, registration_id, conversation_id, id) WHERE ((status = 'pending'::text) AND (conversation_id IS NOT NULL));
CREATE INDEX deliveries_leased ON ONLY public.deliveries USING btree (lease_until) WHERE (lease_until IS NOT NULL);
CREATE INDEX deliveries_logged ON ONLY public.deliveries USING btree (company_id, registration_id, sent_at, id) WHERE (sent_at IS NOT NULL);
CREATE INDEX deliveries_waiting ON ONLY public.deliveries USING btree (lane, LEAST(attempts, 1) DESC, due_at, id) WHERE ((status = 'pending'::text) AND (failed_at IS NULL) AND (claim_id IS NULL) AND (waits_for IS NULL));

create table delivery_attempts (
  company_id bigint not null,
  id bigint not null default (((((now() AT TIME ZONE 'UTC'::text))::date - '1970-01-01'::date) * (1000000000)::bigint) + nextval('delivery_ids'::regclass)),
  day integer not null default (((now() AT TIME ZONE 'UTC'::text))::date - '1970-01-01'::date),
  registration_id bigint not null,
  delivery_id bigint not null,
  round integer not null,
  attempt integer not null,
  status_code integer,
  response text,
  error_message text,
  duration_ms integer not null,
  dead_lettered boolean not null default false,
  sent_at timestamp with time zone not null,
  created_at timestamp with time zone not null default now(),
  constraint delivery_attempts_pkey PRIMARY KEY (company_id, registration_id, id, day)
) partition by range (day);
CREATE INDEX delivery_attempts_dead ON ONLY public.delivery_attempts USING btree (company_id, registration_id, sent_at, id) WHERE dead_lettered;
CREATE INDEX delivery_attempts_delivered ON ONLY public.delivery_attempts USING btree (company_id, registration_id, sent_at, id) WHERE (error_message IS NULL);
CREATE INDEX delivery_attempts_failed ON ONLY public.delivery_attempts USING btree (company_id, registration_id, sent_at, id) WHERE (error_message IS NOT NULL);
CREATE INDEX delivery_attempts_of_delivery ON ONLY public.delivery_attempts USING btree (company_id, delivery_id);

create table discarded_files (
  company_id bigint not null,
  storage_key text not null,
  attempts integer not null default 0,
  due_at timestamp with time zone not null default now(),
  created_at timestamp with time zone not null default now(),
  constraint discarded_files_pkey PRIMARY KEY (company_id, storage_key)
);
CREATE INDEX discarded_files_due ON public.discarded_files USING btree (due_at);

create table email_clicks (
  company_id bigint not null,
  id bigint not null generated always as identity,
  email_id bigint not null,
  link integer not null,
  suspected_machine boolean not null,
  at timestamp with time zone not null default now(),
  constraint email_clicks_pkey PRIMARY KEY (company_id, email_id, id)
);
CREATE INDEX email_clicks_by_age ON public.email_clicks USING btree (at);

create table email_contents (
  company_id bigint not null,
  email_id bigint not null,
  from_address text not null,
  from_name text,
  reply_to text,
  html text not null,
  text text,
  headers jsonb not null,
  track_opens boolean not null,
  track_clicks boolean not null,
  tracking jsonb,
  constraint email_contents_pkey PRIMARY KEY (company_id, email_id),
  constraint email_contents_company_id_email_id_fkey FOREIGN KEY (company_id, email_id) REFERENCES emails(company_id, id)
);

create table email_links (
  company_id bigint not null,
  email_id bigint not null,
  targets text[] not null,
  constraint email_links_pkey PRIMARY KEY (company_id, email_id),
  constraint email_links_company_id_email_id_fkey FOREIGN KEY (company_id, email_id) REFERENCES emails(company_id, id)
);

create table email_settings (
  company_id bigint not null,
  from_address text not null,
  from_name text,
  smtp_url text,
  updated_at timestamp with time zone not null default now(),
  constraint email_settings_pkey PRIMARY KEY (company_id),
  constraint email_settings_company_id_fkey FOREIGN KEY (company_id) REFERENCES companies(id)
);

create table email_suppressions (
  company_id bigint not null,
  address text not null,
  reason text not null,
  detail text,
  created_at timestamp with time zone not null default now(),
  constraint email_suppressions_pkey PRIMARY KEY (company_id, address),
  constraint email_suppressions_company_id_fkey FOREIGN KEY (company_id) REFERENCES companies(id),
  constraint email_suppressions_reason_check CHECK ((reason = ANY (ARRAY['bounce'::text, 'complaint'::text])))
);

create table email_template_counts (
  company_id bigint not null,
  template_id bigint not null,
  sent bigint not null default 0,
  opened bigint not null default 0,
  clicked bigint not null default 0,
  bounced bigint not null default 0,
  complained bigint not null default 0,
  constraint email_template_counts_pkey PRIMARY KEY (company_id, template_id),
  constraint email_template_counts_company_id_template_id_fkey FOREIGN KEY (company_id, template_id) REFERENCES email_templates(company_id, id)
);

create table email_templates (
  company_id bigint not null,
  id bigint not null generated always as identity,
  uid text not null,
  name text not null,
  subject text not null,
  html text not null,
  text text,
  category text not null,
  variables text[] not null,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  deleted_at timestamp with time zone,
  constraint email_templates_by_uid UNIQUE (company_id, uid),
  constraint email_templates_pkey PRIMARY KEY (company_id, id),
  constraint email_templates_company_id_fkey FOREIGN KEY (company_id) REFERENCES companies(id)
);

create table emails (
  company_id bigint not null,
  id bigint not null generated by default as identity,
  uid text not null,
  template_id bigint,
  recipient text not null,
  subject text not null,
  message_id text not null,
  secret bytea not null,
  is_marketing boolean not null,
  status text not null default 'pending'::text,
  failure_reason text,
  submitted_at timestamp with time zone,
  created_at timestamp with time zone not null default now(),
  completed_at timestamp with time zone,
  open_count integer not null default 0,
  machine_open_count integer not null default 0,
  first_open_at timestamp with time zone,
  click_count integer not null default 0,
  machine_click_count integer not null default 0,
  first_click_at timestamp with time zone,
  bounced_at timestamp with time zone,
  complained_at timestamp with time zone,
  clicks_on date,
  clicks_of_day integer not null default 0,
  recipient_key text,
  constraint emails_by_uid UNIQUE (company_id, uid),
  constraint emails_pkey PRIMARY KEY (company_id, id),
  constraint emails_company_id_fkey FOREIGN KEY (company_id) REFERENCES companies(id),
  constraint emails_company_id_template_id_fkey FOREIGN KEY (company_id, template_id) REFERENCES email_templates(company_id, id),
  constraint emails_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'sent'::text, 'failed'::text, 'bounced'::text])))
);
CREATE INDEX emails_by_mailbox ON public.emails USING btree (company_id, COALESCE(recipient_key, lower((recipient COLLATE "C"))), id);

create table envelope_people (
  company_id bigint not null,
  person text not null,
  event text not null,
  event_id text not null,
  day integer not null,
  created_at timestamp with time zone not null default now(),
  constraint envelope_people_pkey PRIMARY KEY (company_id, person, event, event_id, day)
);
CREATE INDEX envelope_people_by_age ON public.envelope_people USING btree (created_at);
CREATE INDEX envelope_people_by_event ON public.envelope_people USING btree (company_id, event_id);

create table envelopes (
  company_id bigint not null,
  day integer not null default (((now() AT TIME ZONE 'UTC'::text))::date - '1970-01-01'::date),
  event_id text not null,
  event text not null,
  message_id bigint,
  body text not null,
  delivery_ids bigint[] not null default '{}'::bigint[],
  created_at timestamp with time zone not null default now(),
  constraint envelopes_pkey PRIMARY KEY (company_id, event, event_id, day)
) partition by range (day);

create table erased_keys (
  company_id bigint not null,
  hash text not null,
  erased_at timestamp with time zone not null default statement_timestamp(),
  constraint erased_keys_pkey PRIMARY KEY (company_id, hash),
  constraint erased_keys_company_id_fkey FOREIGN KEY (company_id) REFERENCES companies(id)
);
CREATE INDEX erased_keys_by_age ON public.erased_keys USING btree (erased_at);

create table erasures (
  company_id bigint not null,
  contact_id bigint not null,
  subject text,
  passes smallint not null default 0,
  requested_at timestamp with time zone not null default now(),
  completed_at timestamp with time zone,
  constraint erasures_pkey PRIMARY KEY (company_id, contact_id),
  constraint erasures_company_id_contact_id_fkey FOREIGN KEY (company_id, contact_id) REFERENCES contacts(company_id, id)
);

create table idempotency_keys (
  company_id bigint not null,
  id bigint not null generated always as identity,
  client_id text not null,
  method text not null,
  path text not null,
  key text not null,
  digest bytea not null,
  message_id bigint,
  progress jsonb,
  answer_status smallint,
  answer_body text,
  lease_until timestamp with time zone not null,
  created_at timestamp with time zone not null default now(),
  constraint idempotency_keys_by_request UNIQUE (company_id, client_id, method, path, key),
  constraint idempotency_keys_pkey PRIMARY KEY (company_id, id),
  constraint idempotency_keys_company_id_fkey FOREIGN KEY (company_id) REFERENCES companies(id)
);
CREATE INDEX idempotency_keys_by_age ON public.idempotency_keys USING btree (created_at);

create table inbound_bodies (
  event_id bigint not null,
  body bytea not null,
  signature bytea,
  secret_mac bytea,
  received_at timestamp with time zone not null,
  constraint inbound_bodies_pkey PRIMARY KEY (event_id)
);
CREATE INDEX inbound_bodies_by_age ON public.inbound_bodies USING btree (received_at);

create table inbound_events (
  lane smallint not null,
  id bigint not null generated always as identity,
  part text not null default ''::text,
  others text[] not null default '{}'::text[],
  body bytea not null,
  received_at timestamp with time zone not null default now(),
  done integer not null default 0,
  signature bytea,
  secret_mac bytea,
  is_checked boolean not null default false,
  address text,
  needs_proof boolean not null default false,
  constraint inbound_events_pkey PRIMARY KEY (lane, id)
);

create table inbound_items (
  id bigint not null generated always as identity,
  state text not null,
  reason text not null,
  phone_number_id text,
  waba_account_id text,
  body bytea not null,
  received_at timestamp with time zone not null,
  created_at timestamp with time zone not null default now(),
  app text,
  event_id bigint,
  constraint inbound_items_pkey PRIMARY KEY (id),
  constraint inbound_items_event_id_fkey FOREIGN KEY (event_id) REFERENCES inbound_bodies(event_id) ON DELETE SET NULL,
  constraint inbound_items_state_check CHECK ((state = ANY (ARRAY['unroutable'::text, 'unverified'::text, 'failed'::text, 'unreadable'::text])))
);
CREATE INDEX inbound_items_by_account ON public.inbound_items USING btree (waba_account_id) WHERE (state = ANY (ARRAY['unroutable'::text, 'unverified'::text]));
CREATE INDEX inbound_items_by_age ON public.inbound_items USING btree (received_at);
CREATE INDEX inbound_items_by_app ON public.inbound_items USING btree (app) WHERE (state = ANY (ARRAY['unroutable'::text, 'unverified'::text]));
CREATE INDEX inbound_items_by_event ON public.inbound_items USING btree (event_id) WHERE (event_id IS NOT NULL);
CREATE INDEX inbound_items_by_number ON public.inbound_items USING btree (phone_number_id) WHERE (state = ANY (ARRAY['unroutable'::text, 'unverified'::text]));
CREATE INDEX inbound_items_by_state ON public.inbound_items USING btree (state, id);

create table jobs (
  id bigint not null generated always as identity,
  kind text not null,
  lane text not null,
  company_id bigint,
  subject_id bigint not null,
  once boolean not null default false,
  due_at timestamp with time zone not null default now(),
  attempts integer not null default 0,
  lease_expiries integer not null default 0,
  claim_id uuid,
  lease_until timestamp with time zone,
  failed_at timestamp with time zone,
  last_error text,
  created_at timestamp with time zone not null default now(),
  constraint jobs_pkey PRIMARY KEY (id),
  constraint jobs_failed_without_claim CHECK (((failed_at IS NULL) OR (claim_id IS NULL))),
  constraint jobs_last_error_check CHECK ((length(last_error) <= 500)),
  constraint jobs_leased_with_claim CHECK (((claim_id IS NULL) = (lease_until IS NULL)))
);
CREATE INDEX jobs_by_failure ON public.jobs USING btree (failed_at) WHERE (failed_at IS NOT NULL);
CREATE INDEX jobs_failed ON public.jobs USING btree (kind, subject_id) WHERE (failed_at IS NOT NULL);
CREATE INDEX jobs_leased ON public.jobs USING btree (kind, lease_until) WHERE (lease_until IS NOT NULL);
CREATE INDEX jobs_waiting ON public.jobs USING btree (kind, lane, due_at, id) WHERE ((claim_id IS NULL) AND (failed_at IS NULL));
CREATE UNIQUE INDEX jobs_once ON public.jobs USING btree (kind, subject_id, company_id) NULLS NOT DISTINCT WHERE once;

create unlogged table live_listeners (
  id uuid not null,
  listens_until timestamp with time zone not null,
  constraint live_listeners_pkey PRIMARY KEY (id)
);

create table mailbox_passes (
  number integer not null,
  started_at timestamp with time zone not null default now(),
  ended_at timestamp with time zone,
  constraint mailbox_passes_pkey PRIMARY KEY (number)
);

create table mailbox_twins (
  company_id bigint not null,
  contact_id bigint not null,
  other_id bigint not null,
  constraint mailbox_twins_pkey PRIMARY KEY (company_id, other_id),
  constraint mailbox_twins_company_id_contact_id_fkey FOREIGN KEY (company_id, contact_id) REFERENCES contacts(company_id, id),
  constraint mailbox_twins_company_id_fkey FOREIGN KEY (company_id) REFERENCES companies(id),
  constraint mailbox_twins_company_id_other_id_fkey FOREIGN KEY (company_id, other_id) REFERENCES contacts(company_id, id)
);
CREATE INDEX mailbox_twins_by_contact ON public.mailbox_twins USING btree (company_id, contact_id);

create table media (
  company_id bigint not null,
  message_id bigint not null,
  sender_id bigint not null,
  provider_media_id text not null,
  state text not null default 'pending'::text,
  storage_key text not null,
  mime_type text,
  filename text,
  size_bytes bigint,
  sha256 text,
  attempts integer not null default 0,
  last_error text,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  upload_id text,
  constraint media_pkey PRIMARY KEY (company_id, message_id),
  constraint media_company_id_sender_id_fkey FOREIGN KEY (company_id, sender_id) REFERENCES senders(company_id, id),
  constraint media_company_id_upload_id_fkey FOREIGN KEY (company_id, upload_id) REFERENCES uploads(company_id, id),
  constraint media_state_check CHECK ((state = ANY (ARRAY['pending'::text, 'stored'::text, 'gone'::text, 'failed'::text]))),
  constraint media_stored_is_measured CHECK (((state <> 'stored'::text) OR ((size_bytes IS NOT NULL) AND (sha256 IS NOT NULL))))
);
CREATE INDEX media_of_uploads ON public.media USING btree (company_id, upload_id) WHERE (upload_id IS NOT NULL);

create table message_changes (
  company_id bigint not null,
  wamid text not null,
  sender_id bigint not null,
  direction text not null,
  writers text[] not null,
  shown_writer text,
  target_wamid text not null,
  kind text not null,
  text text,
  occurred_at timestamp with time zone not null,
  ordinal bigint not null generated always as identity,
  created_at timestamp with time zone not null default now(),
  look_at timestamp with time zone,
  constraint message_changes_pkey PRIMARY KEY (company_id, wamid),
  constraint message_changes_company_id_fkey FOREIGN KEY (company_id) REFERENCES companies(id),
  constraint message_changes_direction_check CHECK ((direction = ANY (ARRAY['inbound'::text, 'outbound'::text]))),
  constraint message_changes_kind_check CHECK ((kind = ANY (ARRAY['edit'::text, 'revoke'::text])))
);
CREATE INDEX message_changes_by_age ON public.message_changes USING btree (occurred_at);
CREATE INDEX message_changes_by_look ON public.message_changes USING btree (look_at) WHERE (look_at IS NOT NULL);
CREATE INDEX message_changes_by_target ON public.message_changes USING btree (target_wamid, company_id);

create table message_reactions (
  company_id bigint not null,
  wamid text not null,
  target_wamid text not null,
  emoji text,
  occurred_at timestamp with time zone not null,
  ordinal bigint not null generated always as identity,
  writers text[],
  constraint message_reactions_pkey PRIMARY KEY (company_id, wamid),
  constraint message_reactions_company_id_fkey FOREIGN KEY (company_id) REFERENCES companies(id)
);
CREATE INDEX message_reactions_by_age ON public.message_reactions USING btree (occurred_at);
CREATE INDEX message_reactions_by_target ON public.message_reactions USING btree (target_wamid, company_id, occurred_at DESC, ordinal DESC);

create table message_status_events (
  company_id bigint not null,
  message_id bigint not null,
  status text not null,
  error jsonb,
  occurred_at timestamp with time zone,
  created_at timestamp with time zone not null default now(),
  constraint message_status_events_pkey PRIMARY KEY (company_id, message_id, status)
);
CREATE INDEX message_status_events_by_age ON public.message_status_events USING btree (created_at);

create table message_usage (
  company_id bigint not null,
  day date not null,
  sender_id bigint not null,
  category text not null,
  template text not null,
  writer smallint not null default (pg_backend_pid() % 16),
  sent bigint not null,
  delivered bigint not null,
  read bigint not null,
  failed bigint not null,
  billable bigint not null,
  constraint message_usage_pkey PRIMARY KEY (company_id, day, sender_id, category, template, writer),
  constraint message_usage_company_id_sender_id_fkey FOREIGN KEY (company_id, sender_id) REFERENCES senders(company_id, id)
);

create table messages (
  company_id bigint not null,
  id bigint not null default (((((((EXTRACT(year FROM (clock_timestamp() AT TIME ZONE 'UTC'::text)) - (1970)::numeric) * (12)::numeric) + EXTRACT(month FROM (clock_timestamp() AT TIME ZONE 'UTC'::text))) - (1)::numeric))::bigint * '1000000000000'::bigint) + nextval('messages_id_seq'::regclass)),
  conversation_id bigint not null,
  seq bigint not null,
  direction text not null,
  type text not null,
  text text,
  media jsonb,
  status text not null,
  error jsonb,
  sender_name text,
  wamid text,
  provider_message_id text,
  is_echo boolean not null default false,
  sent_at timestamp with time zone,
  edited_at timestamp with time zone,
  revoked_at timestamp with time zone,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  template text,
  category text,
  pricing jsonb,
  counted smallint,
  content jsonb,
  quoted_wamid text,
  kind text,
  priced_at timestamp with time zone,
  context jsonb,
  constraint messages_pkey PRIMARY KEY (company_id, id),
  constraint messages_direction_check CHECK ((direction = ANY (ARRAY['inbound'::text, 'outbound'::text]))),
  constraint messages_status_check CHECK ((status = ANY (ARRAY['received'::text, 'pending'::text, 'unknown'::text, 'sent'::text, 'failed'::text, 'delivered'::text, 'read'::text])))
) partition by range (id);
CREATE INDEX messages_by_provider_id ON ONLY public.messages USING btree (company_id, provider_message_id) WHERE (provider_message_id IS NOT NULL);
CREATE INDEX messages_pending ON ONLY public.messages USING btree (created_at) WHERE (status = 'pending'::text);
CREATE UNIQUE INDEX messages_before_months_by_seq ON public.messages_before_months USING btree (company_id, conversation_id, seq);
CREATE UNIQUE INDEX messages_before_months_by_wamid ON public.messages_before_months USING btree (company_id, wamid) WHERE (wamid IS NOT NULL);

create table migrations (
  name text not null,
  applied_at timestamp with time zone not null default now(),
  breaking boolean not null default false,
  checksum text,
  constraint migrations_pkey PRIMARY KEY (name)
);

create table missed_template_events (
  company_id bigint not null,
  waba_account_id text not null,
  at timestamp with time zone not null,
  constraint missed_template_events_pkey PRIMARY KEY (company_id, waba_account_id),
  constraint missed_template_events_company_id_fkey FOREIGN KEY (company_id) REFERENCES companies(id)
);

create table moving_files (
  company_id bigint not null,
  storage_key text not null,
  constraint moving_files_pkey PRIMARY KEY (company_id, storage_key)
);

create table operator_keys (
  company_id bigint not null default 0,
  id bigint not null generated always as identity,
  client_id text not null,
  method text not null,
  path text not null,
  key text not null,
  digest bytea not null,
  message_id bigint,
  progress jsonb,
  answer_status smallint,
  answer_body text,
  lease_until timestamp with time zone not null,
  created_at timestamp with time zone not null default now(),
  constraint operator_keys_by_request UNIQUE (company_id, client_id, method, path, key),
  constraint operator_keys_pkey PRIMARY KEY (id)
);
CREATE INDEX operator_keys_by_age ON public.operator_keys USING btree (created_at);

create table quick_replies (
  company_id bigint not null,
  id bigint not null generated always as identity,
  title text not null,
  text text not null,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  constraint quick_replies_pkey PRIMARY KEY (company_id, id),
  constraint quick_replies_company_id_fkey FOREIGN KEY (company_id) REFERENCES companies(id)
);
CREATE UNIQUE INDEX quick_replies_by_title ON public.quick_replies USING btree (company_id, lower(title));

create unlogged table rate_limits (
  key character varying(255) not null,
  points integer not null default 0,
  expire bigint,
  constraint rate_limits_pkey PRIMARY KEY (key)
);
CREATE INDEX rate_limits_by_expiry ON public.rate_limits USING btree (expire);

create table redeliveries (
  company_id bigint not null,
  id bigint not null generated always as identity,
  registration_id bigint not null,
  since timestamp with time zone not null,
  until timestamp with time zone not null,
  only_dead_lettered boolean not null,
  renewed_up_to bigint not null default 0,
  requested_at timestamp with time zone not null default clock_timestamp(),
  constraint redeliveries_pkey PRIMARY KEY (company_id, id)
);
CREATE INDEX redeliveries_of_registration ON public.redeliveries USING btree (company_id, registration_id);

create table registrations (
  company_id bigint not null,
  id bigint not null generated always as identity,
  name text not null,
  url text not null,
  events text[] not null,
  status text not null default 'active'::text,
  method text not null default 'POST'::text,
  static_headers text,
  secret text,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  deleted_at timestamp with time zone,
  channel_ids bigint[],
  active_since timestamp with time zone not null default now(),
  paused_reason text,
  paused_at timestamp with time zone,
  last_success_at timestamp with time zone,
  last_failure_at timestamp with time zone,
  ordered boolean not null default false,
  constraint registrations_pkey PRIMARY KEY (company_id, id),
  constraint registrations_company_id_fkey FOREIGN KEY (company_id) REFERENCES companies(id),
  constraint registrations_channel_ids_check CHECK ((channel_ids <> '{}'::bigint[])),
  constraint registrations_events_check CHECK ((events <> '{}'::text[])),
  constraint registrations_method_check CHECK ((method = ANY (ARRAY['POST'::text, 'GET'::text]))),
  constraint registrations_paused_are_inactive CHECK ((((paused_at IS NULL) = (paused_reason IS NULL)) AND ((paused_at IS NULL) OR (status = 'inactive'::text) OR (paused_reason = 'backlog'::text)))),
  constraint registrations_paused_reason_check CHECK ((paused_reason = ANY (ARRAY['no_success'::text, 'backlog'::text]))),
  constraint registrations_status_check CHECK ((status = ANY (ARRAY['active'::text, 'inactive'::text])))
);
CREATE INDEX registrations_living ON public.registrations USING btree (company_id, id) WHERE (deleted_at IS NULL);
CREATE INDEX registrations_of_record_events ON public.registrations USING btree (company_id) WHERE ((status = 'active'::text) AND (deleted_at IS NULL) AND (events <> '{whatsapp.message.received}'::text[]));

create table scheduled_messages (
  company_id bigint not null,
  id bigint not null generated always as identity,
  sender_id bigint not null,
  conversation_id bigint,
  is_reply boolean not null,
  recipient text not null,
  identity text not null,
  type text not null,
  text text,
  body jsonb,
  sender_name text not null,
  send_at timestamp with time zone not null,
  status text not null default 'scheduled'::text,
  message_id bigint,
  error jsonb,
  created_at timestamp with time zone not null default now(),
  ended_at timestamp with time zone,
  client_id text,
  constraint scheduled_messages_pkey PRIMARY KEY (company_id, id),
  constraint scheduled_messages_company_id_conversation_id_fkey FOREIGN KEY (company_id, conversation_id) REFERENCES conversations(company_id, id),
  constraint scheduled_messages_company_id_sender_id_fkey FOREIGN KEY (company_id, sender_id) REFERENCES senders(company_id, id),
  constraint scheduled_messages_status_check CHECK ((status = ANY (ARRAY['scheduled'::text, 'sent'::text, 'failed'::text])))
);
CREATE INDEX scheduled_messages_by_conversation ON public.scheduled_messages USING btree (company_id, conversation_id, status, id);
CREATE INDEX scheduled_messages_by_end ON public.scheduled_messages USING btree (ended_at) WHERE (ended_at IS NOT NULL);
CREATE INDEX scheduled_messages_by_identity ON public.scheduled_messages USING btree (company_id, identity);
CREATE INDEX scheduled_messages_by_status ON public.scheduled_messages USING btree (company_id, status, id);

create table search_passes (
  number integer not null,
  started_at timestamp with time zone not null default now(),
  ended_at timestamp with time zone,
  constraint search_passes_pkey PRIMARY KEY (number)
);

create table sender_limits (
  company_id bigint not null,
  sender_id bigint not null,
  next_slot_at timestamp with time zone,
  constraint sender_limits_pkey PRIMARY KEY (company_id, sender_id),
  constraint sender_limits_company_id_sender_id_fkey FOREIGN KEY (company_id, sender_id) REFERENCES senders(company_id, id)
);

create table sender_routes (
  phone_number_id text not null,
  company_id bigint not null,
  sender_id bigint not null,
  constraint sender_routes_pkey PRIMARY KEY (phone_number_id),
  constraint sender_routes_company_id_sender_id_fkey FOREIGN KEY (company_id, sender_id) REFERENCES senders(company_id, id)
);

create table senders (
  company_id bigint not null,
  id bigint not null generated always as identity,
  provider text not null,
  phone_number text not null,
  phone text not null,
  phone_name text not null,
  phone_number_id text not null,
  waba_account_id text not null,
  access_token text not null,
  app_secret text,
  api_base_url text,
  is_preferred boolean not null default false,
  tier smallint,
  daily_limit integer,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  deleted_at timestamp with time zone,
  app_id text,
  app_name text,
  webhook_secret text,
  connected_at timestamp with time zone not null default now(),
  throughput_per_second integer,
  is_shared_with_app boolean not null default false,
  limit_at timestamp with time zone,
  portfolio_id text,
  marketing_address text not null default 'auto'::text,
  marketing_terms_signed boolean not null default false,
  marketing_terms_at timestamp with time zone,
  direct_send boolean not null default false,
  constraint senders_pkey PRIMARY KEY (company_id, id),
  constraint senders_company_id_fkey FOREIGN KEY (company_id) REFERENCES companies(id),
  constraint senders_daily_limit_check CHECK ((daily_limit > 0)),
  constraint senders_marketing_address_check CHECK ((marketing_address = ANY (ARRAY['auto'::text, 'marketing'::text, 'messages'::text]))),
  constraint senders_throughput_per_second_check CHECK ((throughput_per_second > 0)),
  constraint senders_tier_check CHECK (((tier >= 1) AND (tier <= 4)))
);
CREATE INDEX senders_by_account ON public.senders USING btree (waba_account_id) WHERE (deleted_at IS NULL);
CREATE INDEX senders_by_app ON public.senders USING btree (app_id) WHERE ((app_id IS NOT NULL) AND (deleted_at IS NULL));
CREATE INDEX senders_by_app_name ON public.senders USING btree (app_name) WHERE ((app_name IS NOT NULL) AND (deleted_at IS NULL));
CREATE INDEX senders_with_secret ON public.senders USING btree (company_id) WHERE ((app_secret IS NOT NULL) AND (deleted_at IS NULL));
CREATE INDEX senders_with_webhook_secret ON public.senders USING btree (company_id) WHERE ((webhook_secret IS NOT NULL) AND (deleted_at IS NULL));
CREATE UNIQUE INDEX senders_preferred ON public.senders USING btree (company_id) WHERE (is_preferred AND (deleted_at IS NULL));

create table service_secrets (
  name text not null,
  value text not null,
  constraint service_secrets_pkey PRIMARY KEY (name)
);

create table sign_in_links (
  digest bytea not null,
  company_id bigint,
  client_id text not null,
  name text not null,
  permissions text[] not null,
  created_at timestamp with time zone not null default now(),
  expires_at timestamp with time zone not null,
  role text not null default 'agent'::text,
  constraint sign_in_links_pkey PRIMARY KEY (digest),
  constraint sign_in_links_company_id_fkey FOREIGN KEY (company_id) REFERENCES companies(id),
  constraint sign_in_links_role_check CHECK ((role = ANY (ARRAY['agent'::text, 'developer'::text, 'admin'::text])))
);
CREATE INDEX sign_in_links_by_company ON public.sign_in_links USING btree (company_id, expires_at);
CREATE INDEX sign_in_links_by_expiry ON public.sign_in_links USING btree (expires_at);

create table sql_objects (
  name text not null,
  kind text not null,
  checksum text not null,
  superseded_by text,
  constraint sql_objects_pkey PRIMARY KEY (name)
);

create table template_families (
  company_id bigint not null,
  id text not null,
  waba_account_id text not null,
  name text not null,
  created_at timestamp with time zone not null default now(),
  constraint template_families_by_name UNIQUE (company_id, waba_account_id, name),
  constraint template_families_pkey PRIMARY KEY (company_id, id),
  constraint template_families_company_id_fkey FOREIGN KEY (company_id) REFERENCES companies(id)
);

create table templates (
  company_id bigint not null,
  family_id text not null,
  language text not null,
  external_id text,
  status text not null,
  provider_status text not null,
  category text not null,
  parameter_format text not null,
  components jsonb not null,
  quality_score jsonb,
  rejected_reason text not null default ''::text,
  namespace text,
  partner_id text,
  updated_external boolean not null default false,
  created_by jsonb,
  modified_by jsonb,
  created_at timestamp with time zone not null default now(),
  modified_at timestamp with time zone not null default now(),
  event_at timestamp with time zone,
  status_at timestamp with time zone,
  category_at timestamp with time zone,
  quality_at timestamp with time zone,
  components_at timestamp with time zone,
  ttl_seconds integer,
  passed_on jsonb,
  constraint templates_pkey PRIMARY KEY (company_id, family_id, language),
  constraint templates_company_id_family_id_fkey FOREIGN KEY (company_id, family_id) REFERENCES template_families(company_id, id),
  constraint templates_parameter_format_check CHECK ((parameter_format = ANY (ARRAY['POSITIONAL'::text, 'NAMED'::text]))),
  constraint templates_status_check CHECK ((status = ANY (ARRAY['APPROVED'::text, 'PENDING'::text, 'REJECTED'::text, 'DISABLED'::text])))
);
CREATE INDEX templates_by_external_id ON public.templates USING btree (company_id, external_id);

create table unhandled_counts (
  address text not null,
  bytes bigint not null,
  items bigint not null,
  window_ends_at timestamp with time zone not null,
  is_spent boolean generated always as (((bytes > ((16 * 1024) * 1024)) OR (items > 10000))) stored,
  constraint unhandled_counts_pkey PRIMARY KEY (address)
);
CREATE INDEX unhandled_counts_by_end ON public.unhandled_counts USING btree (window_ends_at);
CREATE INDEX unhandled_counts_spent ON public.unhandled_counts USING btree (window_ends_at) WHERE is_spent;

create table upload_copies (
  company_id bigint not null,
  upload_id text not null,
  sender_id bigint not null,
  provider_media_id text not null,
  created_at timestamp with time zone not null default now(),
  constraint upload_copies_pkey PRIMARY KEY (company_id, upload_id, sender_id),
  constraint upload_copies_company_id_sender_id_fkey FOREIGN KEY (company_id, sender_id) REFERENCES senders(company_id, id),
  constraint upload_copies_company_id_upload_id_fkey FOREIGN KEY (company_id, upload_id) REFERENCES uploads(company_id, id) ON DELETE CASCADE
);

create table uploads (
  company_id bigint not null,
  id text not null,
  storage_key text not null,
  mime_type text,
  filename text,
  size_bytes bigint,
  sha256 text,
  created_at timestamp with time zone not null default now(),
  due_at timestamp with time zone,
  constraint uploads_pkey PRIMARY KEY (company_id, id),
  constraint uploads_company_id_fkey FOREIGN KEY (company_id) REFERENCES companies(id),
  constraint uploads_are_whole_or_not CHECK ((((mime_type IS NULL) = (size_bytes IS NULL)) AND ((mime_type IS NULL) = (sha256 IS NULL))))
);
CREATE INDEX uploads_due ON public.uploads USING btree (due_at);
CREATE INDEX uploads_unsent ON public.uploads USING btree (company_id) WHERE (due_at IS NOT NULL);

create table waiting_statuses (
  company_id bigint not null,
  id bigint not null generated always as identity,
  provider_message_id text,
  wamid text,
  status text,
  error jsonb,
  occurred_at timestamp with time zone,
  created_at timestamp with time zone not null default now(),
  pricing jsonb,
  recipients text[],
  sender_id bigint,
  recipient_phone text,
  look_at timestamp with time zone not null default now(),
  constraint waiting_statuses_pkey PRIMARY KEY (company_id, id),
  constraint waiting_statuses_company_id_fkey FOREIGN KEY (company_id) REFERENCES companies(id)
);
CREATE INDEX waiting_statuses_by_age ON public.waiting_statuses USING btree (created_at);
CREATE INDEX waiting_statuses_by_look ON public.waiting_statuses USING btree (look_at);
CREATE INDEX waiting_statuses_by_wamid ON public.waiting_statuses USING btree (company_id, wamid);
