import { join } from 'node:path'
import { connect } from '../../../src/db/connect.ts'
import { ROOT } from '../../deploy/deploy-files.ts'
import type { Database } from '../database/database.ts'
import { type Cluster, startCluster } from './cluster.ts'
import { startWriters } from './writers.ts'

const PASSWORD = 'password-of-the-owner'

/** The cluster of docs/cluster.md as the database of a run. */
export type PatroniDatabase = Database & { cluster: Cluster }

export async function startPatroniDatabase(): Promise<PatroniDatabase> {
  const cluster = await startCluster()
  const first = await cluster.leader()
  const roles = join(ROOT, 'deploy/roles.sql')
  const passwords = ['owner', 'runtime'].map((role) => `-v ${role}_password=${PASSWORD}`).join(' ')
  await first.run(`psql -v ON_ERROR_STOP=1 ${passwords} -f ${roles} '${cluster.superuserUrl([first])}'`)
  const ask: Database['ask'] = async (query) => {
    const db = connect(url, { max: 1, applicationName: 'faults' })
    return query(db).finally(() => db.end({ timeout: 1 }))
  }
  const url = cluster.url('parley_owner', PASSWORD, 'parley')
  const leader = connect(cluster.superuserUrl(), { max: 1 })
  const writers = await startWriters(
    leader,
    cluster.nodes.map((node) => cluster.superuserUrl([node])),
  )
  return {
    cluster,
    url,
    ask,
    lostWrites: () => writers.countLost(leader),
    stop: async () => {
      await writers.stop()
      await leader.end({ timeout: 0 })
      await cluster.stop()
    },
  }
}
