-- The stored rows that an inbound_item matches. Arrays of both types have the same items in the same order.
create type inbound_match as (
  is_new boolean, -- false: a message or reaction with this wamid was recorded, or comes earlier in the batch
  conversation_id bigint, -- null: the customer has no conversation with the sender
  customer_key text, -- the identity under which the conversation is stored, which may differ from the item's
  contact_id bigint, -- null: no contact is known
  contact_identity text -- the identity of the item that the contact is known by
);
