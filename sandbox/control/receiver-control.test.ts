import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, expect, test, vi } from 'vitest'
import { startSandbox } from '../sandbox.ts'
import { call } from '../test/client.ts'

const sandbox = await startSandbox()
afterAll(sandbox.stop)

const behave = (name: string, behaviour: object) =>
  call(sandbox, 'PUT', `/sandbox/receivers/${name}/behaviour`, behaviour)
const post = (name: string, options: RequestInit = {}) =>
  fetch(`${sandbox.url}/sandbox/receivers/${name}`, { method: 'POST', body: '{"n":1.10}', ...options })

test('a receiver takes any method, keeps the request as it came and answers 200', async () => {
  expect((await post('plain', { headers: { 'X-Own': 'yes' } })).status).toBe(200)
  expect((await post('plain', { method: 'PUT', body: 'second' })).status).toBe(200)
  const { body } = await call(sandbox, 'GET', '/sandbox/receivers/plain/requests')
  expect(body).toMatchObject([
    { method: 'PUT', body: 'second' },
    { method: 'POST', body: '{"n":1.10}', headers: { 'x-own': 'yes' }, at: expect.stringMatching(/^2.*Z$/) },
  ])
  expect((await call(sandbox, 'GET', '/sandbox/receivers/plain/requests?limit=1')).body).toHaveLength(1)
  expect((await call(sandbox, 'GET', '/sandbox/receivers/other/requests')).body).toEqual([])
})

test('it answers as it is set to, until that changes', async () => {
  await behave('changed', { statusCode: 503, body: 'later', delayMs: 20 })
  const answer = await post('changed')
  expect([answer.status, await answer.text()]).toEqual([503, 'later'])
  await behave('changed', {})
  expect((await post('changed')).status).toBe(200)
  expect((await behave('changed', { statusCode: 42 })).status).toBe(400)
  expect((await behave('changed', { unknown: true })).status).toBe(400)
})

test('it hangs, drips and resets', async () => {
  const requests = async (): Promise<unknown[]> => (await call(sandbox, 'GET', '/sandbox/receivers/bad/requests')).body
  await behave('bad', { hang: true })
  const caller = new AbortController()
  const hanging = expect(post('bad', { signal: caller.signal })).rejects.toThrow(/aborted/)
  await vi.waitFor(async () => expect(await requests()).toHaveLength(1), 90_000)
  await sleep(200)
  caller.abort()
  await hanging
  await behave('bad', { reset: true })
  await expect(post('bad')).rejects.toThrow(/fetch failed/)
  await behave('bad', { drip: true })
  const dripping = await post('bad')
  expect(dripping.status).toBe(200)
  const drops = dripping.body!.getReader()
  for (let drop = 0; drop < 2; drop += 1) expect((await drops.read()).done).toBe(false)
  await drops.cancel()
  expect(await requests()).toHaveLength(3)
})
