import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { fileURLToPath } from 'node:url'
import { afterEach, expect, test } from 'vitest'
import { startReceiver } from './test/receiver.ts'

const MAIN = fileURLToPath(new URL('./main.ts', import.meta.url))

const children: ChildProcessWithoutNullStreams[] = []
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
})

function start(env: Record<string, string>): ChildProcessWithoutNullStreams {
  const child = spawn(process.execPath, [MAIN], { env: { ...process.env, SANDBOX_PORT: '0', ...env }, stdio: 'pipe' })
  children.push(child)
  return child
}

async function readAddress(child: ChildProcessWithoutNullStreams): Promise<{ url: string; port: number }> {
  const [line] = (await once(child.stdout, 'data')) as [Buffer]
  return JSON.parse(line.toString())
}

test('prints its address as one line of JSON and stops on SIGTERM, open connections or not', async () => {
  const child = start({})
  const { url, port } = await readAddress(child)
  expect(url).toBe(`http://127.0.0.1:${port}`)
  expect((await fetch(`${url}/sandbox/messages`)).status).toBe(200)
  child.kill('SIGTERM')
  expect(await once(child, 'exit')).toEqual([0, null])
})

test('stops with its stdin, so that it never outlives its parent', async () => {
  const child = start({ SANDBOX_STOP_WITH_STDIN: '1' })
  await readAddress(child)
  child.stdin.end()
  expect(await once(child, 'exit')).toEqual([0, null])
})

test('takes its port after a line when it is to listen with its stdin, and ends with a parent that writes none', async () => {
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  const { port } = other.address() as AddressInfo
  const env = { SANDBOX_PORT: String(port), SANDBOX_LISTEN_WITH_STDIN: '1', SANDBOX_STOP_WITH_STDIN: '1' }
  const [listening, orphan] = [start(env), start(env)]
  other.close()
  await once(other, 'close')
  listening.stdin.write('\n')
  expect((await readAddress(listening)).port).toBe(port)
  listening.stdin.end()
  expect(await once(listening, 'exit')).toEqual([0, null])
  orphan.stdin.end()
  expect(await once(orphan, 'exit')).toEqual([0, null])
})

test('posts to SANDBOX_WEBHOOK_URL, signed with SANDBOX_APP_SECRET', async () => {
  const receiver = await startReceiver()
  const child = start({ SANDBOX_WEBHOOK_URL: receiver.url, SANDBOX_APP_SECRET: 'shh' })
  const { url } = await readAddress(child)
  const body = JSON.stringify({ phoneNumberId: '100000000000001', from: '1', type: 'text', text: { body: 'Hi' } })
  const answer = await fetch(`${url}/sandbox/inbound`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  })
  expect(await answer.json()).toMatchObject({ delivered: true, statusCode: 200 })
  expect(receiver.events[0]?.headers).toHaveProperty('x-hub-signature-256')
  expect(await (await fetch(`${url}/sandbox/behaviour`)).json()).toMatchObject({ autoStatus: true })
  child.kill('SIGINT')
  expect(await once(child, 'exit')).toEqual([0, null])
  receiver.stop()
})

test('says what is wrong with SANDBOX_PORT', async () => {
  const child = start({ SANDBOX_PORT: 'many' })
  const [output] = (await once(child.stderr, 'data')) as [Buffer]
  expect(output.toString()).toContain('SANDBOX_PORT')
  expect(await once(child, 'exit')).toEqual([1, null])
})
