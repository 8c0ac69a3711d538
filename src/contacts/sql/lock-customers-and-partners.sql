-- Locks customers like lock_customers, and with each the other identity that customer_user_ids pairs it with: a number that
-- moves concerns both. Raises serialization_failure when a pair changed meanwhile; the caller's transaction begins again.
create function lock_customers_and_partners(company_ids bigint[], identities text[])
returns void
language plpgsql
as $$
declare
  partner_companies bigint[];
  partners text[];
begin
  select array_agg(found.company_id), array_agg(found.identity)
  into partner_companies, partners
  from partners_of(company_ids, identities) as found;

  perform lock_customers(company_ids || partner_companies, identities || partners);

  if exists (
    select found.company_id, found.identity from partners_of(company_ids, identities) as found
    except
    select locked.company_id, locked.identity
    from unnest(partner_companies, partners) as locked (company_id, identity)
  ) then
    raise serialization_failure using message = 'a customer got another number or user id at the same time';
  end if;
end
$$;
