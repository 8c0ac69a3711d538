-- Senders as events are routed to them, with whether their company has an active registration.
create view routed_senders as
select
  company_id, id, provider, phone, phone_name, phone_number_id, waba_account_id, app_id, app_name, deleted_at,
  exists (
    select
    from registrations registration
    where registration.company_id = sender.company_id
      and registration.status = 'active'
      and registration.deleted_at is null
  ) as has_receivers
from senders sender;
