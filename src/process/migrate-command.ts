import type { Command } from 'commander'
import { joinCell } from '../companies/cell-store.ts'
import { joinDatabase, openPool } from '../db/database.ts'
import { migrate } from '../db/migration/migrate.ts'
import type { Config } from '../platform/settings/config.ts'

/** Defines `parley migrate`, so that the service can run without DDL rights (`MIGRATE=off`; decisions: Starting). */
export function migrateCommand(program: Command, readSettings: () => Config): void {
  program
    .command('migrate')
    .description('bring the schema of the database to this version, and end')
    .option(
      '--force',
      'apply a breaking migration although processes of other versions are connected: their requests fail',
    )
    .action(async ({ force = false }: { force?: boolean }) => {
      const config = readSettings()
      const database = await joinDatabase(config)
      const { db, stop } = openPool(database.url, { max: 1 })
      try {
        const warn = (message: string) => console.error(message)
        const applied = await migrate(db, { warn, isForced: force, allowsNewer: config.allowsNewerSchema })
        await joinCell(db, config.cell)
        for (const name of applied) console.log(`Applied ${name}`)
        console.log('The schema is up to date')
      } finally {
        await stop()
        await database.stop()
      }
    })
}
