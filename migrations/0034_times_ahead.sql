-- Providers whose clock is ahead stored times to come, beside which everything later counted as older. From now on a
-- reported time is never after its arrival.
update consents
set said_at = least(said_at, now()), first_said_at = least(first_said_at, now())
where said_at > now() or first_said_at > now();

update customer_identities set reported_at = now() where reported_at > now();

update conversations set controlled_at = now() where controlled_at > now();

update senders
set limit_at = least(limit_at, now()), marketing_terms_at = least(marketing_terms_at, now())
where limit_at > now() or marketing_terms_at > now();

update templates
set
  status_at = least(status_at, now()),
  category_at = least(category_at, now()),
  quality_at = least(quality_at, now()),
  components_at = least(components_at, now())
where greatest(status_at, category_at, quality_at, components_at) > now();

update message_reactions set occurred_at = now() where occurred_at > now();
