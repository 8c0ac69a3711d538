-- The mailbox of a recipient beyond ASCII, as src/text/email-address.ts writes it; null: the recipient in lower case. The lower case of
-- other letters depends on the database. Mails of earlier versions get exact keys from src/emails/email-keys.ts.
alter table emails add column recipient_key text;
update emails set recipient_key = lower(recipient) where recipient ~ '[^\x01-\x7f]';
drop index emails_by_recipient;
create index emails_by_mailbox on emails (company_id, coalesce(recipient_key, lower(recipient collate "C")), id);
