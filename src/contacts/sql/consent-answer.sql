-- A consent answer about marketing on a channel: true is an opt-in, false an opt-out.
create type consent_answer as (
  channel text,
  identity text, -- null: the person has none on this channel
  value boolean
);
