-- A scheduled message is sent with the rights that its key has when it is due.
alter table scheduled_messages add client_id text; -- the API key, also of a console session; null: the operator, or not known

-- Messages scheduled before this migration have the name of their key only.
update scheduled_messages scheduled
set client_id = named.client_id
from (
  select company_id, name, min(client_id) as client_id
  from api_keys
  group by company_id, name
  having count(*) = 1
) as named
where scheduled.status = 'scheduled' and (scheduled.company_id, scheduled.sender_name) = (named.company_id, named.name);
