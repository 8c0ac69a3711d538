-- Sessions of the console have a role, which their link fixes. A session that began with an API key is an admin's.

alter table console_sessions add column role text not null default 'agent' check (role in ('agent', 'developer', 'admin'));
alter table sign_in_links add column role text not null default 'agent' check (role in ('agent', 'developer', 'admin'));

update console_sessions session
set role = 'admin'
where session.company_id is null
  or exists (
    select
    from api_keys key
    where (key.company_id, key.client_id, key.name) = (session.company_id, session.client_id, session.name)
  );
