-- Keeps what identities said about marketing on a channel, beyond the life of their contacts: false adds an opt-out, true
-- ends it. Of several answers of one identity the last wins.
create function keep_opt_outs(company bigint, answers consent_answer[])
returns void
language sql
as $$
  with answer as materialized (
    select distinct on (given.channel, given.identity) given.channel, given.identity, given.value
    from unnest(answers) with ordinality as given (channel, identity, value, place)
    where given.identity is not null
    order by given.channel, given.identity, given.place desc
  ),
  ended as (
    delete from opt_outs
    using answer
    where (opt_outs.company_id, opt_outs.channel) = (company, answer.channel)
      and opt_outs.identity in (answer.identity, opt_out_hash(company, answer.identity))
      and answer.value
  )
  insert into opt_outs (company_id, channel, identity)
  select company, answer.channel, answer.identity
  from answer
  where not answer.value
  on conflict do nothing
$$;
