import { afterEach } from 'vitest'
import { sendStaticFile, toStaticFile } from '../src/http/server/answers/static-file.ts'
import type { ServerDeps } from '../src/http/server/server.ts'
import type { Config } from '../src/platform/settings/config.ts'
import { createTestApi } from './api.ts'
import { createTestDatabase } from './database.ts'

export const text = 'All work and no play. '.repeat(20_000)

type Options = { bounds?: ServerDeps['bounds']; config?: Partial<Config> }

/** Servers of a static file, closed after each test. */
export async function startFiles() {
  const { db } = await createTestDatabase()
  const closing: (() => unknown)[] = []
  afterEach(async () => {
    for (const close of closing.splice(0)) await close()
  })
  async function open(content: Uint8Array, { bounds, config = {} }: Options) {
    const file = await toStaticFile('text/plain; charset=utf-8', content)
    let asked = 0
    const { app } = await createTestApi({
      db,
      config,
      ...(bounds && { bounds }),
      routes: (app) => {
        const open = { surface: 'public' } as const
        app.get('/file', { config: open }, (request, reply) => {
          asked += 1
          return sendStaticFile(request, reply, file, 'no-cache')
        })
        app.get('/small', { config: open }, async () => ({ ok: true }))
      },
    })
    closing.push(() => app.close())
    return { app, asked: () => asked }
  }
  return { closing, open }
}
