-- What a message holds beside text and media, and the message that it answers.

alter table messages
  add content jsonb, -- {type, <type>}: a reply, a location, contacts, an interactive message or a reaction; null: nothing
  add quoted_wamid text; -- of the message that it answers; null: none
