-- Whether an identity has refused marketing on a channel.
create function is_opted_out(company bigint, on_channel text, of_identity text)
returns boolean
language sql stable
as $$
  select exists (
    select
    from opt_outs
    where (opt_outs.company_id, opt_outs.channel, opt_outs.identity) = (company, on_channel, of_identity)
  )
$$;
