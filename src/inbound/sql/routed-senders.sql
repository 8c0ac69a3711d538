-- Senders as events are routed to them, with whether their company has an active registration and which events have to
-- prove their origin.
create view routed_senders as
select
  company_id, id, provider, phone, phone_name, phone_number_id, waba_account_id, app_id, app_name, deleted_at,
  -- Events that were received before were accepted without knowing its secrets: another process may remember for 5 s
  -- that it was not connected.
  case when app_secret is not null or webhook_secret is not null then connected_at + interval '5 seconds' end
    as proof_until,
  exists (
    select
    from registrations registration
    where registration.company_id = sender.company_id
      and registration.status = 'active'
      and registration.deleted_at is null
  ) as has_receivers
from senders sender;
