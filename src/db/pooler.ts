import { connect, type Pool } from './connect.ts'
import { pooledAddress, readAddress } from './driver/session/address.ts'

/** The limitations of a service behind a pooler in transaction mode, for its operator. */
export const WITHOUT_SESSIONS =
  'DATABASE_URL leads to a pooler in transaction mode: the live stream and the console look for new messages once a second instead of ' +
  'being notified, and statements are planned each time instead of being prepared. Use its session mode or the server itself to ' +
  'have both'

/**
 * The address, with `pgbouncer=true` when connections share sessions of the server: then nothing may outlast a transaction.
 * Two connections ask in turn which session serves them. A pooler in transaction mode gives the session that was used last to
 * the next statement, or another one each time; the sessions of all others stay apart.
 */
export async function markPooler(url: string): Promise<string> {
  if (readAddress(url).isPooled) return url
  // Nothing must be set for a session that may be that of others, too.
  const marked = pooledAddress(url)
  const [one, other] = [connect(marked, { max: 1 }), connect(marked, { max: 1 })]
  try {
    const first = await sessionOf(one)
    const areShared =
      (await sessionOf(other)) === first || (await sessionOf(one)) !== first || (await sessionOf(one)) !== first
    return areShared ? marked : url
  } finally {
    await Promise.all([one.end({ timeout: 0 }), other.end({ timeout: 0 })])
  }
}

async function sessionOf(db: Pool): Promise<number> {
  const [row] = await db<[{ pid: number }]>`select pg_backend_pid() as pid`
  return row.pid
}
