-- A send whose answer names the customer by another identity than the one that was dialled.
create type identified_send as (company_id bigint, message_id bigint, dialled text, customer text);
