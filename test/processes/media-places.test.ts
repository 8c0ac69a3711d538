import { rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { atFileEnd } from '../file-end.ts'
import { type ParleyProcess, readyFolder, runParley } from '../parley-process.ts'
import { createTestFolder } from '../temporary-folder.ts'

type S3Server = { run(): Promise<AddressInfo>; close(): Promise<void> }

const S3rver: new (options: object) => S3Server = createRequire(import.meta.url)('s3rver')
const bucket = new S3rver({
  port: 0,
  silent: true,
  directory: await createTestFolder(),
  configureBuckets: [{ name: 'our-media', configs: [] }],
})
const { port } = await bucket.run()
atFileEnd(() => bucket.close())

const PICTURE = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex')
const FILES = [PICTURE, PICTURE].map((bytes) => bytes.toString('hex'))

/** Starts the service with its demo and returns what the test needs of it. */
async function start(env: Record<string, string>) {
  const parley = await runParley({ SANDBOX: 'on', SANDBOX_PORT: '0', LOG_LEVEL: 'warn', ...env })
  await parley.says('Token:')
  const token = /^Token: +(\S+)$/m.exec(parley.output())?.[1] ?? ''
  const headers = { authorization: `Bearer ${token}` }
  return {
    parley,
    /** A bucket that is slow on a busy machine is answered 503, and asked again. */
    upload: async (): Promise<string> => {
      const post = () =>
        fetch(`${parley.address}/public/v1/whatsapp/media`, {
          method: 'POST',
          headers: { ...headers, 'content-type': 'image/png' },
          body: PICTURE,
        })
      let answer = await post()
      while (answer.status === 503) answer = await post()
      const text = await answer.text()
      expect(answer.status, text).toBe(201)
      return (JSON.parse(text) as { data: { mediaId: string } }).data.mediaId
    },
    send: async (mediaId: string): Promise<number> => {
      const answer = await fetch(`${parley.address}/public/v1/templates/whatsapp/send`, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body: JSON.stringify({ recipient: '393331234567', type: 'image', media: { mediaId } }),
      })
      return answer.status
    },
    /** The files of all messages as the console reads them. */
    files: async (): Promise<string[]> => {
      const list = await fetch(`${parley.address}/public/v1/whatsapp/conversations/1/messages?pageSize=100`, {
        headers,
      })
      const { data } = (await list.json()) as { data: { media: { url: string } | null }[] }
      const urls = data.flatMap(({ media }) => (media === null ? [] : [media.url]))
      return Promise.all(urls.map(async (url) => Buffer.from(await (await fetch(url)).arrayBuffer()).toString('hex')))
    },
  }
}

async function command(env: Record<string, string>, ...args: string[]) {
  const run = await runParley(env, { args: [...args, '--json'] })
  const code = await run.exited
  expect(code, run.output()).toBe(0)
  return JSON.parse(run.output())
}

const stop = async ({ parley }: { parley: ParleyProcess }) => expect(await parley.signal('SIGTERM')).toBe(0)

test('files stay readable while they move from the folder to a bucket', { timeout: 600_000 }, async () => {
  const DATA_DIR = await readyFolder()
  const withFolder = await start({ DATA_DIR })
  const first = await withFolder.upload()
  await stop(withFolder)

  // The key comes from the environment, as a role of the machine would give it.
  const env = {
    DATA_DIR,
    MEDIA_BUCKET_URL: `http://127.0.0.1:${port}/our-media`,
    AWS_ACCESS_KEY_ID: 'S3RVER',
    AWS_SECRET_ACCESS_KEY: 'S3RVER',
  }
  const withBoth = await start(env)
  const second = await withBoth.upload()
  expect([await withBoth.send(first), await withBoth.send(second)]).toEqual([200, 200])
  expect(await withBoth.files()).toEqual(FILES)
  const media = async () => {
    const findings: { name: string; status: string; message: string }[] = await command(env, 'doctor')
    return findings.find(({ name }) => name === 'media')
  }
  expect(await media()).toMatchObject({
    status: 'warn',
    message: expect.stringMatching(/^1 of 2 .*parley media copy$/),
  })
  expect(await command(env, 'media', 'copy')).toEqual({ copied: 1, present: 1, missing: 0, removed: 0 })
  await stop(withBoth)

  rmSync(join(DATA_DIR, 'media'), { recursive: true })
  const withBucket = await start(env)
  expect(await media()).toMatchObject({ status: 'ok' })
  expect(await withBucket.files()).toEqual(FILES)
  await stop(withBucket)

  const { MEDIA_BUCKET_URL, ...back } = env
  const returning = { ...back, MEDIA_EARLIER_BUCKET_URL: MEDIA_BUCKET_URL }
  expect(await command(returning, 'media', 'copy')).toMatchObject({ copied: 2, missing: 0 })
  const withFolderAgain = await start({ DATA_DIR })
  expect(await withFolderAgain.files()).toEqual(FILES)
  await stop(withFolderAgain)
})
