-- A customer of a message, as resolve_contacts finds or creates the contact.
create type customer_contact as (
  company_id bigint,
  identity text, -- #id: a WhatsApp group
  phone text,
  other text, -- another identity of the customer
  source text,
  source_type text
);
