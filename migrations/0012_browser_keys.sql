-- Settings of keys that hold ContactsUpsert alone, which web pages show to every visitor.

alter table api_keys
  add column key_limit_per_minute integer check (key_limit_per_minute > 0), -- null: half of the company's limit
  add column address_limit_per_minute integer check (address_limit_per_minute > 0), -- null: a fifth of the company's limit
  add column writable_fields text[], -- null: all
  add column identity_secret text; -- encrypted; proves the identities of visitors that the page's own service has signed in
