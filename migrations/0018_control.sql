-- The side that answers a conversation: the business, or the agent of the provider.

alter table conversations
  add controlled_by text check (controlled_by in ('business', 'agent')), -- null: neither, or not known
  add controlled_at timestamptz; -- of the event that set it: an older one does not change it
