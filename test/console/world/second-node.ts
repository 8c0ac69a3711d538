import { buildApp } from '../../../src/app.ts'
import { connect } from '../../../src/db/connect.ts'
import { createDeps } from '../../../src/wiring/deps.ts'
import { compareAnswers } from '../../contract/described-answers.ts'
import { atFileEnd } from '../../file-end.ts'
import { freePort } from '../../free-port.ts'
import type { TestService } from '../../service.ts'

/** Another node that answers requests on the database of a service, with connections and caches of its own. */
export async function startSecondNode({ deps, databaseUrl }: TestService): Promise<{ origin: string }> {
  const port = await freePort()
  const origin = `http://127.0.0.1:${port}`
  const db = connect(databaseUrl, { optOutKey: 'key-of-the-tests' })
  const config = { ...deps.config, port, baseUrl: origin }
  const app = await buildApp(createDeps({ ...deps, config, db, workerDb: db }))
  compareAnswers(app)
  await app.listen({ port, host: '127.0.0.1' })
  atFileEnd(async () => {
    await app.close()
    await db.end()
  })
  return { origin }
}
