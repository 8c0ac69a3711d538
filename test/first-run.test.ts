import { execFile } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { freePort, readyFolder, startParley } from './parley-process.ts'

const run = promisify(execFile)

test('the printed lines work as pasted, again and again, and show a signed delivery', {
  timeout: 120_000,
}, async () => {
  const folder = await readyFolder()
  const parley = await startParley({ DATA_DIR: folder, SANDBOX_PORT: String(await freePort()) })
  await parley.says('/sandbox/messages')
  expect(parley.output()).toContain('WEBHOOK_ALLOW_PRIVATE is on')
  const lines = parley
    .output()
    .split('\n')
    .filter((line) => line.startsWith('curl '))
  expect(lines.length).toBeGreaterThanOrEqual(7)

  for (let time = 1; time <= 2; time += 1) {
    const outputs: Record<string, string> = {}
    for (const line of lines) {
      const { stdout } = await run('sh', ['-c', line])
      expect(stdout, line).not.toMatch(/"error"|"message":"[A-Z]/)
      outputs[line] = stdout
    }
    const delivery = Object.entries(outputs).find(([line]) => line.includes('/requests?limit=1'))?.[1] ?? ''
    const [got] = JSON.parse(delivery.slice(delivery.indexOf('[{"method"')))
    const secret = /"secret":"([^"]+)"/.exec(lines.join())?.[1] ?? ''
    expect(got.headers['x-service-signature']).toBe(createHmac('sha256', secret).update(got.body).digest('hex'))
    expect(JSON.parse(got.body).message.text).toBe('Is it ready?')
  }
  expect(await parley.signal('SIGTERM')).toBe(0)
})
