-- Whether a phone number and a user id are known to be of two customers: one of them is paired with another identity.
create function are_two_customers(company bigint, number text, user_id text)
returns boolean
language sql stable
as $$
  select exists (
      select
      from customer_user_ids pair
      where (pair.company_id, pair.phone_identity) = (company, number) and pair.user_id <> are_two_customers.user_id
    )
    or exists (
      select
      from customer_user_ids pair
      where (pair.company_id, pair.user_id) = (company, are_two_customers.user_id) and pair.phone_identity <> number
    )
$$;
