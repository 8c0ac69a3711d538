-- The order of the definitions, and those that are not offered any more.
alter table custom_fields
  add position integer, -- null: after those with a position, by id
  add retired_at timestamptz; -- null: offered in forms and filters
