-- A customer by identity: the normal form of a phone number, a provider's user id, or #id of a WhatsApp group.
create type customer_key as (
  company_id bigint,
  identity text -- null: no customer
);
