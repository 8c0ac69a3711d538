-- Bytes that a browser key may store in an hour; null: the default.
alter table api_keys add column stored_bytes_per_hour bigint;
alter table api_keys
  add constraint api_keys_stored_bytes_per_hour_check check (stored_bytes_per_hour > 0) not valid;
alter table api_keys validate constraint api_keys_stored_bytes_per_hour_check;
