-- How long the provider tries to deliver a message of a template.

alter table templates add column ttl_seconds integer; -- null: as long as the provider does by itself
