-- To which address of the provider the marketing templates of a number go, and whether its account may write outside the
-- 24-hour window without a template.

alter table senders
  add column marketing_address text not null default 'auto'
    check (marketing_address in ('auto', 'marketing', 'messages')),
  add column marketing_terms_signed boolean not null default false, -- by the account, as the provider reports it
  add column marketing_terms_at timestamptz, -- when that was so, by the provider's clock
  add column direct_send boolean not null default false; -- the provider has allowed Direct Send to the account
