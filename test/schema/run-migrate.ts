import { connect } from '../../src/db/connect.ts'
import { migrate } from '../../src/db/migration/migrate.ts'

/** Migrates the database at the first argument, in a process of its own, and sends its parent the names of what it applied. */
const [url = '', folder] = process.argv.slice(2)
const db = connect(url)
const applied = await migrate(db, folder === undefined ? {} : { source: { migrations: folder, objects: folder } })
await db.end()
process.send?.(applied)
process.disconnect?.()
