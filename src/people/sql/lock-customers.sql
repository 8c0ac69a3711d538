-- Locks the identities, then the customers that they lead to, until the transaction ends, each in the same order everywhere.
-- With is_patient it waits for other transactions; without, it returns the identities alone whose locks it got, with their
-- customers' locks. A caller that reads in a later statement sees what earlier holders wrote.
--
-- keys: [{company_id, identity}]
create function lock_customers(keys jsonb, is_patient boolean)
returns table (company_id bigint, identity text, customer_id bigint)
language plpgsql
set plan_cache_mode = force_generic_plan -- also of its steps: planning takes longer than running for few rows
as $$
#variable_conflict use_column
declare
  locked_identities bigint[];
  locked_customers bigint[];
begin
  locked_identities := array(
    select locks.key
    from (
      select distinct advisory_key('customer', input.company_id || ':' || input.identity) as key
      from jsonb_to_recordset(keys) as input (company_id bigint, identity text)
      order by 1
    ) as locks
    where case when is_patient then pg_advisory_xact_lock(locks.key) is not null else pg_try_advisory_xact_lock(locks.key) end
  );

  -- In statements of their own: each sees what was committed while the one before it waited.
  locked_customers := array(
    select locks.key
    from (
      select distinct advisory_key('customer id', found.company_id || ':' || found.customer_id) as key
      from jsonb_to_recordset(keys) as input (company_id bigint, identity text)
      cross join lateral find_customer(input.company_id, input.identity) as found
      where is_patient
        or advisory_key('customer', input.company_id || ':' || input.identity) in (select unnest(locked_identities))
      order by 1
    ) as locks
    where case when is_patient then pg_advisory_xact_lock(locks.key) is not null else pg_try_advisory_xact_lock(locks.key) end
  );

  return query
  select input.company_id, input.identity, found.customer_id
  from (
    select distinct input.company_id, input.identity
    from jsonb_to_recordset(keys) as input (company_id bigint, identity text)
  ) as input
  left join lateral find_customer(input.company_id, input.identity) as found on true
  where (
      is_patient
      or advisory_key('customer', input.company_id || ':' || input.identity) in (select unnest(locked_identities))
    )
    and (
      found.customer_id is null
      or advisory_key('customer id', found.company_id || ':' || found.customer_id) in (select unnest(locked_customers))
    );
end
$$;
