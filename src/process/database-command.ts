import { text } from 'node:stream/consumers'
import type { Command } from 'commander'
import { copyDatabase } from '../db/copy-database.ts'
import { openDatabase, openPool } from '../db/database.ts'
import { migrate } from '../db/migration/migrate.ts'
import type { Config } from '../platform/settings/config.ts'
import { StartError } from '../platform/start-error.ts'

/** Defines `parley database export`: moves from the embedded database to an external PostgreSQL server. */
export function databaseCommand(program: Command, readSettings: () => Config): void {
  program
    .command('database')
    .description('the database: export')
    .command('export <url>')
    .description('copy the embedded database to an empty database of your own; - reads its address from standard input')
    .action(async (address: string) => {
      const url = address === '-' ? (await text(process.stdin)).trim() : address
      const lines = await exportTo(readSettings(), url)
      for (const line of lines) console.log(line)
    })
}

async function exportTo({ databaseUrl, dataDir }: Config, url: string): Promise<string[]> {
  if (databaseUrl !== undefined) {
    throw new StartError('The export reads the embedded database in DATA_DIR: run it without DATABASE_URL')
  }
  // Must not join a running service, whose later writes would be missing.
  const embedded = await openDatabase({ databaseUrl, dataDir })
  const source = openPool(embedded.url, { max: 1 })
  try {
    const { url: targetUrl } = await openDatabase({ databaseUrl: url, dataDir })
    const target = openPool(targetUrl, { max: 1 })
    try {
      await migrate(source.db)
      await migrate(target.db)
      const copied = await copyDatabase(source.db, target.db)
      await target.db`analyze`
      const rows = copied.reduce((sum, table) => sum + table.rows, 0)
      return [
        `Copied ${rows} rows of ${copied.length} tables.`,
        `Start Parley with DATABASE_URL, with ENCRYPTION_KEY and ADMIN_TOKEN from the files encryption-key and admin-token in ${dataDir}, and with the same DATA_DIR: its folder media has the files of messages.`,
      ]
    } finally {
      await target.stop()
    }
  } finally {
    await source.stop()
    await embedded.stop()
  }
}
