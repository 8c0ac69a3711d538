-- Locks customers like lock_customers, and with each the other identity that customer_user_ids pairs it with: a number that
-- moves concerns both. Raises serialization_failure when a pair changed meanwhile; the caller's transaction begins again.
create function lock_customers_and_partners(customers customer_key[])
returns void
language plpgsql
as $$
declare
  partners constant customer_key[] := array(select row(found.company_id, found.identity)::customer_key from partners_of(customers) as found);
begin
  perform lock_customers(customers || partners);

  if exists (
    select found.company_id, found.identity from partners_of(customers) as found
    except
    select locked.company_id, locked.identity from unnest(partners) as locked
  ) then
    raise serialization_failure using message = 'a customer got another number or user id at the same time';
  end if;
end
$$;
