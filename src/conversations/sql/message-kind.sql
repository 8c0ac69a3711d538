-- What a message is: the provider's name for it, else that of its content. Messages from before the column `kind` have none.
create function message_kind(kind text, template text, content jsonb, media jsonb, type text)
returns text
language sql immutable parallel safe
as $$
  select coalesce(
    kind,
    case when template is not null then 'template' end,
    case content ->> 'type' when 'reply' then 'interactive' else content ->> 'type' end,
    media ->> 'kind',
    type
  )
$$;
