-- Of the pricings that statuses of a message report, the last one counts.
alter table messages add priced_at timestamptz; -- the time of the status that reported `pricing`, by the provider's clock
