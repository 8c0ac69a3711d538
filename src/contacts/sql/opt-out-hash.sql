-- The form in which the opt-out of an erased person keeps its identity: a hash with a key that is a setting of the session
-- (connect in src/db/connect.ts) and not in the database. Null without the setting.
create function opt_out_hash(company bigint, identity text)
returns text
language sql stable
as $$
  select 'hash:' || encode(
    sha256(convert_to(nullif(current_setting('parley.opt_out_key', true), '') || ':' || company || ':' || identity, 'UTF8')),
    'hex'
  )
$$;
