-- Members of a template record that the provider itself writes in the form of the API; null: it writes another form.
alter table templates add column passed_on jsonb;
