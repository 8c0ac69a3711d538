-- Records opens and clicks. Returns the place of each known fetch, from 1, and the target of its link.
-- fetches: [{company_id, email_id, link, tail, mac, counted, machine}]; see find_email_fetches.
create function record_email_fetches(fetches jsonb)
returns json
language plpgsql
set plan_cache_mode = force_generic_plan -- also of its steps: planning takes longer than running for few rows
as $$
declare
  found email_fetch[] := array(select fetched from find_email_fetches(fetches) as fetched);
begin
  if exists (select from unnest(found) as fetched where fetched.counted) then
    perform count_email_fetches(found);
  end if;
  -- One JSON text: an array for each column cost the process more than the database's work.
  return (select coalesce(json_object_agg(fetched.place, fetched.target), '{}') from unnest(found) as fetched);
end
$$;
