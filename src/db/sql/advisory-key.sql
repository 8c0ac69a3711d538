-- The number of an advisory lock: of a key within a namespace of src/db/advisory-locks.ts.
create function advisory_key(namespace text, key text)
returns bigint
language sql immutable parallel safe
as $$
  select hashtextextended(key, hashtextextended(namespace, 0))
$$;
