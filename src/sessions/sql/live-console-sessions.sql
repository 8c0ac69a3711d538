-- The sessions of the console that have not ended: neither by time, nor with the API key that they come from, nor with
-- their company. Whether an operator's token is still the present one is for the reader to compare.
create view live_console_sessions as
select
  session.id,
  session.digest,
  session.company_id,
  company.name as company_name,
  company.closed_at is not null as is_closed,
  company.default_country,
  company.session_rate_limit_per_minute,
  company.agents_may_erase,
  session.client_id,
  session.name,
  session.permissions,
  session.role,
  session.agent,
  session.created_at,
  session.seen_at,
  session.ends_at
from console_sessions session
left join companies company on company.id = session.company_id
left join api_keys key on (key.company_id, key.client_id) = (session.company_id, session.client_id)
where session.idle_until > now()
  and (session.company_id is null or company.deleted_at is null)
  and (
    session.client_id like 'operator:%'
    or (key.client_id is not null and key.revoked_at is null and (key.expires_at is null or key.expires_at > now()))
  );
