import type { Db, Pool } from '../../src/db/connect.ts'

/** A table whose key has the company in it. `copies` and `assignments` are the values of the mirror's row in SQL. */
type Table = { name: string; columns: string[]; copies: string[]; assignments: string[]; key: string[] }

/**
 * Gives every company a mirror: a company whose id is the negative one and that has the same rows under the same ids and keys.
 * Triggers repeat each insert, update and delete. The other columns of its rows differ, and it has no senders' routes, API
 * keys or jobs, so that the service never works for it. A statement that does not compare the company reads the row of the
 * mirror before the company's own, and is refused when it writes that row: each test of a room shows that the room's
 * statements compare the company.
 */
export async function installMirrors(db: Pool): Promise<void> {
  for (const table of await listTables(db)) await db.unsafe(triggerOf(table))
  await db.unsafe(COMPANY)
  await deferForeignKeys(db)
}

/** A statement may write a row and the row that refers to it in any order; their mirrors are written one by one. */
async function deferForeignKeys(db: Pool): Promise<void> {
  const keys = await db<{ table: string; name: string }[]>`
    select conrelid::regclass::text as table, conname as name
    from pg_constraint
    where contype = 'f' and conparentid = 0
  `
  for (const { table, name } of keys)
    await db`alter table ${db(table)} alter constraint ${db(name)} deferrable initially deferred`
}

/** Writes that are not repeated for mirrors: many rows, or times of rows that a sweep of all companies then deletes. */
export async function writeUnmirrored<Result>(db: Pool, write: (tx: Db) => Promise<Result>): Promise<Result> {
  const { result } = await db.begin(async (tx) => {
    await tx`set local session_replication_role = replica`
    return { result: await write(tx) }
  })
  return result
}

const COMPANY = `
  create function mirror_of_companies() returns trigger language plpgsql as $$
  begin
    if new.id > 0 then
      insert into companies (id, name) overriding system value values (-new.id, 'mirror ' || new.name);
    end if;
    return new;
  end
  $$;
  create trigger mirror before insert on companies for each row execute function mirror_of_companies();
`

/**
 * Runs before the row is written, so that the row of the mirror is the first one that a scan meets; not for writes of its
 * own. Settings of the function would cost more than the write: each call would reset the session's plans.
 */
function triggerOf({ name, columns, copies, assignments, key }: Table): string {
  const sameKey = key.map((column) => `${column} = ${column === 'company_id' ? '-old.company_id' : `old.${column}`}`)
  return `
    create function mirror_of_${name}() returns trigger language plpgsql
    security definer as $$
    begin
      if tg_op = 'INSERT' then
        if new.company_id < 0 then raise 'A statement inserts into ${name} for another company'; end if;
        insert into public.${name} (${columns.join(', ')}) overriding system value values (${copies.join(', ')})
        on conflict do nothing;
        return new;
      end if;
      if old.company_id < 0 then raise 'A statement writes a row of another company in ${name}'; end if;
      if tg_op = 'DELETE' then
        delete from public.${name} where ${sameKey.join(' and ')};
        return old;
      end if;
      update public.${name} set ${assignments.join(', ')} where ${sameKey.join(' and ')};
      return new;
    end
    $$;
    create trigger mirror before insert or update or delete on ${name}
    for each row when (pg_trigger_depth() = 0) execute function mirror_of_${name}();
  `
}

/**
 * The tables with mirrors. Columns that no index, check or foreign key names have other values in the mirror's row. Its
 * deliveries are not waiting, and events of business accounts do not name its senders. Counts and the queue of files are left
 * out: work over all companies writes those of mirrors, too.
 */
async function listTables(db: Pool): Promise<Table[]> {
  return db<Table[]>`
    select
      c.relname as name,
      array_agg(quote_ident(a.attname) order by a.attnum) as columns,
      array_agg(copy order by a.attnum) as copies,
      array_agg(quote_ident(a.attname) || ' = ' || copy) filter (where a.attidentity <> 'a') as assignments,
      (
        select array_agg(quote_ident(k.attname))
        from pg_attribute k
        join pg_constraint p on p.conrelid = c.oid and p.contype = 'p' and k.attnum = any (p.conkey)
        where k.attrelid = c.oid
      ) as key
    from pg_class c
    join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
    cross join lateral (
      select
        exists (
          select from pg_constraint n where n.conrelid = c.oid and n.contype <> 'n' and a.attnum = any (n.conkey)
        )
        or exists (
          select from pg_index i
          where (i.indrelid = c.oid or i.indrelid in (select inhrelid from pg_inherits where inhparent = c.oid)) and pg_get_indexdef(i.indexrelid) ~ ('\\m' || a.attname || '\\M')
        ) as is_key
    ) keys
    cross join lateral (
      select
        case
          when a.attname = 'company_id' then '-new.company_id'
          when c.relname = 'deliveries' and a.attname = 'status' then $$'skipped'$$
          when c.relname = 'deliveries' and a.attname in ('claim_id', 'lease_until', 'failed_at') then 'null'
          when c.relname = 'senders' and a.attname in ('waba_account_id', 'app_id', 'app_name')
            then format($$'mirror ' || new.%I$$, a.attname)
          when keys.is_key then format('new.%I', a.attname)
          when a.atttypid = 'text'::regtype then format($$'mirror ' || new.%I$$, a.attname)
          when a.atttypid = 'bytea'::regtype then format('sha256(new.%I)', a.attname)
          when a.atttypid = 'boolean'::regtype then format('not new.%I', a.attname)
          when a.atttypid in ('integer'::regtype, 'bigint'::regtype) then format('new.%I + 1000', a.attname)
          else format('new.%I', a.attname)
        end as copy
    ) copies
    where c.relkind in ('r', 'p') and not c.relispartition and c.relnamespace = 'public'::regnamespace
      and c.relname <> all (array['contact_changes', 'contact_counts', 'conversation_counts', 'message_usage', 'discarded_files'])
      and exists (
        select from pg_constraint p
        join pg_attribute k on k.attrelid = c.oid and k.attnum = any (p.conkey)
        where p.conrelid = c.oid and p.contype = 'p' and k.attname = 'company_id'
      )
    group by c.oid, c.relname
  `
}
