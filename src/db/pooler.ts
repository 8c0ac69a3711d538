import { connect, type Pool } from './connect.ts'
import { pooledAddress, readAddress } from './driver/address.ts'

export const WITHOUT_SESSIONS =
  'DATABASE_URL leads to a pooler in transaction mode: the live stream and the console look for new messages once a second instead of ' +
  'being notified, and statements are planned each time instead of being prepared. Use its session mode or the server itself to ' +
  'have both'

/**
 * Marks an address whose connections share server sessions. Two connections take turns to report theirs: a transaction
 * pooler hands out the last used one, or a different one each time.
 */
export async function markPooler(url: string): Promise<string> {
  if (readAddress(url).isPooled) return url
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
