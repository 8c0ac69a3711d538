import Fastify from 'fastify'
import { pino } from 'pino'
import { readConfig } from '../../src/platform/settings/config.ts'
import { runUntilStopped } from '../../src/process/lifecycle.ts'
import type { Build } from '../../src/process/serve.ts'
import { start } from '../../src/process/start.ts'

/** A service whose requests take their time or fail badly: what stopping has to cope with. */
const buildSlowApp: Build = async ({ db }) => {
  const app = Fastify()
  app.get('/slow', async () => {
    console.log('slow request has started')
    await db`select pg_sleep(2)`
    const [row] = await db`select 2 as slept`
    return row
  })
  app.get('/endless', async () => {
    console.log('endless request has started')
    await new Promise(() => {})
  })
  app.get('/crash', async () => {
    setImmediate(() => {
      throw new Error('an unexpected error')
    })
    return {}
  })
  return { app }
}

const log = pino()
const code = await runUntilStopped(async () => {
  const running = await start(readConfig(process.env), log, buildSlowApp, () => {})
  console.log(`Parley listens on ${running.address}`)
  return running
}, log)
process.exit(code)
