-- The identity by which a contact's consent on a channel is kept: the address of that channel, or, for a contact without
-- one, its other address.
create function consent_identity(channel text, email_key text, phone_identity text)
returns text
language sql immutable
as $$
  select case channel
    when 'email' then coalesce('mailto:' || email_key, phone_identity)
    else coalesce(phone_identity, 'mailto:' || email_key)
  end
$$;
