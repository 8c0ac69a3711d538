-- Where a message comes from beside its content, and the ad that a conversation began with.
alter table messages
  add context jsonb; -- {referral, forwarded, frequentlyForwarded, referredProduct}; null: nothing of it

alter table conversations
  add referral jsonb; -- the first one of the last 24-hour window; null: none
