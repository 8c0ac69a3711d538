-- The database of Parley with two roles: parley_owner owns the schema and runs `parley migrate`, parley_runtime runs the
-- service with MIGRATE=off and cannot change the schema. Run it as a superuser, with two passwords of your own. Roles and a
-- database of these names are kept if they exist; the roles then get these passwords:
--
--   psql -v ON_ERROR_STOP=1 -v owner_password=… -v runtime_password=… -f roles.sql postgres
--
-- `parley migrate` creates the extensions pg_trgm and btree_gin, which an owner may do; they are in the contrib package.

select format('create role %I', role)
from unnest(array['parley_owner', 'parley_runtime']) as role
where role not in (select rolname from pg_roles) \gexec
alter role parley_owner login password :'owner_password';
alter role parley_runtime login password :'runtime_password';

select $$create database parley owner parley_owner encoding 'UTF8' template template0$$
where 'parley' not in (select datname from pg_database) \gexec
revoke all on database parley from public;
grant connect on database parley to parley_runtime;

\connect parley

grant usage on schema public to parley_runtime;
-- These cover the tables and sequences of every migration, also of later versions.
alter default privileges for role parley_owner in schema public
  grant select, insert, update, delete on tables to parley_runtime;
alter default privileges for role parley_owner in schema public
  grant usage on sequences to parley_runtime;
