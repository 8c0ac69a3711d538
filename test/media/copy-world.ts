import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll } from 'vitest'
import { startSandbox } from '../../sandbox/sandbox.ts'
import { NUMBER } from '../../sandbox/test/client.ts'
import { openFolderBlobStore } from '../../src/media/blobs/folder-blob-store.ts'
import { type CopyDeps, copyMedia, recordMedia } from '../../src/media/copy/copy-media.ts'
import { findMedia } from '../../src/media/media-store.ts'
import { fixedClock } from '../../src/platform/clock.ts'
import { createProviderAgent } from '../../src/platform/outgoing/exchange.ts'
import { createMetaProvider } from '../../src/providers/meta/meta.ts'
import { createTestDatabase } from '../database.ts'
import { createMediaMessage } from '../sends/media-world.ts'
import { createTestFolder } from '../temporary-folder.ts'

export const clock = fixedClock(new Date())

export const BYTES = Buffer.from('a picture')

export const SHA256 = createHash('sha256').update(BYTES).digest('hex')

/** A sandbox whose media are copied, or a provider in its place. */
export async function startCopies() {
  const { db } = await createTestDatabase({ mirrors: true })
  const folder = await createTestFolder()
  const dispatcher = createProviderAgent()
  const sandbox = await startSandbox()
  const provider = { url: sandbox.url }
  const deps: CopyDeps = {
    db,
    clock,
    blobStore: await openFolderBlobStore(folder),
    providers: { meta: createMetaProvider({ dispatcher, graphVersion: 'v25.0', timeoutMs: 60_000 }) },
    findSender: async () => ({
      provider: 'meta',
      phoneNumberId: NUMBER,
      wabaAccountId: 'W',
      accessToken: 'token',
      apiBaseUrl: provider.url,
      appId: null,
    }),
  }
  afterAll(async () => {
    await sandbox.stop()
    await dispatcher.destroy()
  })
  async function upload(bytes: Buffer = BYTES, type = 'image/png'): Promise<string> {
    const headers = { authorization: 'Bearer token', 'content-type': type }
    const answer = await fetch(`${sandbox.url}/v25.0/${NUMBER}/media`, {
      method: 'POST',
      headers,
      body: new Uint8Array(bytes),
    })
    const { id } = (await answer.json()) as { id: string }
    return id
  }
  const jobsOf = (companyId: number) =>
    db`select kind, lane, subject_id from jobs where company_id = ${companyId} order by id`
  async function noted(providerMediaId: string, more: object = {}) {
    const message = await createMediaMessage(db, { providerMediaId, mimeType: null, filename: 'a.png', ...more })
    await db.begin((tx) => recordMedia(tx, [message]))
    return message
  }
  const rowOf = ({ companyId, messageId }: { companyId: number; messageId: number }) =>
    findMedia(db, companyId, messageId)
  const copy = ({ companyId, messageId }: { companyId: number; messageId: number }) =>
    copyMedia(deps, companyId, messageId)
  /** Replaces the sandbox by a provider the test controls. */
  async function playing<T>(listener: (base: string) => RequestListener, work: () => Promise<T>): Promise<T> {
    const server = createServer((request, response) => listener(provider.url)(request, response)).listen(0, '127.0.0.1')
    await once(server, 'listening')
    provider.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    try {
      return await work()
    } finally {
      provider.url = sandbox.url
      server.closeAllConnections()
      server.close()
    }
  }
  return { db, sandbox, provider, deps, upload, jobsOf, noted, rowOf, copy, playing }
}
