-- What a received message is, where type and content do not say it: `message_kind` has the kind of every message.

alter table messages
  add kind text; -- the provider's name, such as sticker or button; null: sent, or as type and content say
