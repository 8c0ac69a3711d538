-- The filters of the list of contacts. One index serves any set of them: GIN combines its columns.
create index contacts_by_filter on contacts using gin (
  company_id, tags, custom_fields jsonb_path_ops, status, email_consent, whatsapp_consent
) with (gin_pending_list_limit = 2048) where deleted_at is null;
