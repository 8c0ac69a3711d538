import { expect, onTestFinished, test } from 'vitest'
import { makeMessageMonth } from '../../src/conversations/message-expiry-store.ts'
import { connect } from '../../src/db/connect.ts'
import { migrate } from '../../src/db/migration/migrate.ts'
import { makeDeliveryDays } from '../../src/webhooks/deliveries/delivery-days.ts'
import { fillTables } from './baseline.ts'

/** The address of a PostgreSQL 15 whose user may create databases: see docs/releasing.md. */
const url = process.env.OLDEST_DATABASE_URL

test.skipIf(url === undefined)(
  'the schema migrates on the oldest server that is supported, and takes rows',
  async () => {
    const name = 'parley_oldest'
    const admin = connect(url ?? '', { max: 1 })
    await admin.unsafe(`drop database if exists ${name} with (force)`)
    await admin.unsafe(`create database ${name}`)
    const address = new URL(url ?? '')
    address.pathname = `/${name}`
    const db = connect(address.href, { max: 1 })
    onTestFinished(async () => {
      await db.end()
      await admin.unsafe(`drop database ${name} with (force)`)
      await admin.end()
    })
    const [server] = await db<{ version: number }[]>`select current_setting('server_version_num')::integer as version`
    expect(Math.floor(server!.version / 10_000)).toBe(15)
    await migrate(db)
    expect(await makeDeliveryDays(db)).toBeGreaterThan(0)
    expect(await makeMessageMonth(db, 700)).toBe(true)
    await fillTables(db)
    expect(await db`select count(*)::integer as companies from companies`).toEqual([{ companies: 3 }])
  },
)
