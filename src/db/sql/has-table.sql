-- Whether a table exists by now. Behind an advisory lock, to_regclass may still answer as it did before the wait: a session
-- learns of new tables when it locks one, or looks into the catalogue.
create function has_table(name text)
returns boolean
language sql volatile
as $$
  select exists (select from pg_class where relname = name and relnamespace = 'public'::regnamespace)
$$;
