import type { Db } from '../connect.ts'

export type ServerFacts = {
  version: string
  timeZone: string
  fsync: boolean
  fullPageWrites: boolean
  synchronousCommit: string
  maxConnections: number
  connections: number
  standbys: number
  now: Date
}

export async function readServerFacts(db: Db): Promise<ServerFacts> {
  const [row] = await db<[ServerFacts]>`
    select
      current_setting('server_version') as version,
      current_setting('timezone') as time_zone,
      current_setting('fsync')::boolean as fsync,
      current_setting('full_page_writes')::boolean as full_page_writes,
      current_setting('synchronous_commit') as synchronous_commit,
      current_setting('max_connections')::integer as max_connections,
      (select count(*)::integer from pg_stat_activity where backend_type = 'client backend') as connections,
      (select count(*)::integer from pg_stat_replication) as standbys,
      clock_timestamp() as now
  `
  return row
}
