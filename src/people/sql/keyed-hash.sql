-- The form in which something of an erased person is kept so that it can be recognised: a hash with a key that is a setting of
-- the session (connect in src/db/connect.ts) and not in the database. Null without the setting.
create function keyed_hash(company bigint, value text)
returns text
language sql stable
as $$
  select 'hash:' || encode(
    sha256(convert_to(nullif(current_setting('parley.opt_out_key', true), '') || ':' || company || ':' || value, 'UTF8')),
    'hex'
  )
$$;
