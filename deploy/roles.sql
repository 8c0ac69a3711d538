-- The database of Parley with two roles: parley_owner owns the schema and runs `parley migrate`, parley_runtime runs the
-- service with MIGRATE=off and cannot change the schema. Run it once, as a superuser, with two passwords of your own:
--
--   psql -v ON_ERROR_STOP=1 -v owner_password=… -v runtime_password=… -f roles.sql postgres
--
-- `parley migrate` creates the extensions pg_trgm and btree_gin, which an owner may do; they are in the contrib package.

create role parley_owner login password :'owner_password';
create role parley_runtime login password :'runtime_password';

create database parley owner parley_owner encoding 'UTF8' template template0;
revoke all on database parley from public;
grant connect on database parley to parley_runtime;

\connect parley

grant usage on schema public to parley_runtime;
-- These cover the tables and sequences of every migration, also of later versions.
alter default privileges for role parley_owner in schema public
  grant select, insert, update, delete on tables to parley_runtime;
alter default privileges for role parley_owner in schema public
  grant usage on sequences to parley_runtime;
