import { type Db, sql } from '../db/connect.ts'
import type { Permission } from '../http/admission/caller.ts'
import type { CompanyState } from '../http/admission/console-session.ts'
import type { SessionRole } from '../http/admission/role.ts'
import type { PhoneCountry } from '../platform/text/phone.ts'

/** Null company: operator. `clientId`: the API key, or `operator:<fingerprint>`; the session ends with it. */
export type Grant = {
  companyId: number | null
  clientId: string
  name: string
  permissions: readonly Permission[]
  role: SessionRole
}

export type SessionRow = Grant & {
  id: number
  companyName: string | null
  isLocked: boolean
  defaultCountry: PhoneCountry | null
  sessionRateLimitPerMinute: number | null
  agentsMayErase: boolean | null
  permissions: Permission[]
  agent: string
  createdAt: Date
  seenAt: Date
  endsAt: Date
}

export type Lifetime = { idleSeconds: number; wholeSeconds: number }
type Lifetimes = { company: Lifetime; operator: Lifetime }

const columns = sql`
  id, company_id, company_name, is_closed as is_locked, default_country, session_rate_limit_per_minute, agents_may_erase,
  client_id, name, permissions, role, agent, created_at, seen_at, ends_at`

const isCurrent = (operatorId: string) => sql`(client_id not like 'operator:%' or client_id = ${operatorId})`

const ofCompany = (companyId: number | null) =>
  companyId === null ? sql`company_id is null` : sql`company_id = ${companyId}`

/** Creates a session for a grant or an unused link, which is deleted. Returns undefined without either. */
export async function insertSession(
  db: Db,
  { digest, code, grant, agent }: { digest: Buffer; code: Buffer; grant: Grant | undefined; agent: string },
  { company, operator }: Lifetimes,
): Promise<{ companyId: number | null } | undefined> {
  const [created] = await db<{ companyId: number | null }[]>`
    with link as (
      delete from sign_in_links
      where digest = ${code} and expires_at > now()
      returning company_id, client_id, name, permissions, role, false as is_of_key
    ),
    granted as (
      select company_id, client_id, name, permissions, role, is_of_key
      from link
      union all
      select
        ${grant?.companyId ?? null}::bigint, ${grant?.clientId ?? ''}::text, ${grant?.name ?? ''}::text,
        ${[...(grant?.permissions ?? [])]}::text[], ${grant?.role ?? 'agent'}::text,
        ${grant !== undefined && grant.companyId !== null}::boolean
      where ${grant !== undefined}::boolean
    )
    insert into console_sessions (
      digest, company_id, client_id, name, permissions, role, is_of_key, agent, idle_until, ends_at
    )
    select
      ${digest}, granted.company_id, client_id, name, permissions, role, is_of_key, ${agent},
      now() + lifetime.idle_seconds * interval '1 second',
      now() + lifetime.whole_seconds * interval '1 second'
    from granted
    join (
      values
        (true, ${operator.idleSeconds}::int, ${operator.wholeSeconds}::int),
        (false, ${company.idleSeconds}::int, ${company.wholeSeconds}::int)
    ) as lifetime (is_operator, idle_seconds, whole_seconds) on lifetime.is_operator = (granted.company_id is null)
    limit 1
    returning company_id`
  return created
}

/** Finds sessions by digest (hex), in input order; undefined for ended ones. */
export async function findSessions(
  db: Db,
  digests: readonly string[],
  operatorId: string,
): Promise<(SessionRow | undefined)[]> {
  const rows = await db<(SessionRow & { digest: string })[]>`
    select ${columns}, encode(digest, 'hex') as digest
    from live_console_sessions
    where digest = any (array(select decode(one, 'hex') from unnest(${[...digests]}::text[]) as one))
      and ${isCurrent(operatorId)}`
  const rowOf = new Map(rows.map(({ digest, ...row }) => [digest, row]))
  return digests.map((digest) => rowOf.get(digest))
}

export async function findLink(
  db: Db,
  code: Buffer,
): Promise<{ companyId: number | null; companyName: string | null; name: string } | undefined> {
  const [link] = await db<{ companyId: number | null; companyName: string | null; name: string }[]>`
    select link.company_id, company.name as company_name, link.name
    from sign_in_links link
    left join companies company on company.id = link.company_id
    where link.digest = ${code} and link.expires_at > now()`
  return link
}

export async function findCompanyState(db: Db, companyId: number): Promise<CompanyState | undefined> {
  const [company] = await db<CompanyState[]>`
    select closed_at is not null as is_locked, default_country, session_rate_limit_per_minute, agents_may_erase
    from companies
    where id = ${companyId} and deleted_at is null`
  return company
}

export async function touchSession(db: Db, id: number, idleSeconds: number, everySeconds: number): Promise<void> {
  await db`
    update console_sessions
    set seen_at = now(), idle_until = least(ends_at, now() + ${idleSeconds} * interval '1 second')
    where id = ${id} and idle_until > now() and seen_at <= now() - ${everySeconds} * interval '1 second'`
}

/** Lists live sessions, newest first; a null company means all. */
export const selectSessions = (
  db: Db,
  companyId: number | null,
  operatorId: string,
  before: number | null,
  limit: number,
): Promise<SessionRow[]> => db<SessionRow[]>`
  select ${columns}
  from live_console_sessions
  where ${companyId === null ? sql`true` : ofCompany(companyId)}
    and ${before === null ? sql`true` : sql`id < ${before}`}
    and ${isCurrent(operatorId)}
  order by id desc
  limit ${limit}`

/** Ends a session; a null company matches any. */
export async function deleteSession(db: Db, companyId: number | null, id: number): Promise<boolean> {
  const deleted = await db`
    delete from console_sessions
    where id = ${id} and ${companyId === null ? sql`true` : ofCompany(companyId)}`
  return deleted.count > 0
}

/** Deletes all but the newest `limit` sessions of a company, or of the operator. */
export async function deleteOldestSessions(db: Db, companyId: number | null, limit: number): Promise<void> {
  await db`
    delete from console_sessions
    where id in (
      select id
      from console_sessions
      where ${ofCompany(companyId)}
      order by id desc
      offset ${limit}
    )`
}

/** Deletes all but the newest `limit` sessions started with this API key; sessions from its links stay. */
export async function deleteOldestOfKey(db: Db, companyId: number, clientId: string, limit: number): Promise<void> {
  await db`
    delete from console_sessions
    where company_id = ${companyId}
      and id in (
        select id
        from console_sessions
        where company_id = ${companyId} and client_id = ${clientId} and is_of_key
        order by id desc
        offset ${limit}
      )`
}

/** Stores a link; returns undefined at the maximum of unused links. */
export async function insertLink(
  db: Db,
  { digest, companyId, clientId, name, permissions, role }: Grant & { digest: Buffer },
  { expiresInSeconds, most }: { expiresInSeconds: number; most: number },
): Promise<{ expiresAt: Date } | undefined> {
  const [link] = await db<{ expiresAt: Date }[]>`
    insert into sign_in_links (digest, company_id, client_id, name, permissions, role, expires_at)
    select ${digest}, ${companyId}, ${clientId}, ${name}, ${[...permissions]}::text[], ${role},
      now() + ${expiresInSeconds} * interval '1 second'
    where (select count(*) from sign_in_links where ${ofCompany(companyId)} and expires_at > now()) < ${most}
    returning expires_at`
  return link
}
