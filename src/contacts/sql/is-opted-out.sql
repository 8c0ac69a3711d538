-- Whether an identity has refused marketing on a channel, also before its person was erased.
create function is_opted_out(company bigint, on_channel text, of_identity text)
returns boolean
language sql stable
as $$
  select exists (
    select
    from opt_outs
    where (opt_outs.company_id, opt_outs.channel) = (company, on_channel)
      and opt_outs.identity in (of_identity, opt_out_hash(company, of_identity))
  )
$$;
