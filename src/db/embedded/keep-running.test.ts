import { expect, test } from 'vitest'
import { diskFull } from '../../platform/files/writable-folder.ts'
import { StartError } from '../../platform/start-error.ts'
import { keepRunning } from './keep-running.ts'
import { type Server, ServerCrashed } from './server.ts'

// test/processes/full-disk.test.ts fills a real disk where it may mount one. Here servers end as the test says.
const FULL = diskFull('/data', undefined)

function serverThatEnds() {
  const ended = Promise.withResolvers<StartError>()
  let isStopped = false
  const stop = async () => {
    isStopped = true
  }
  const server: Server = { ended: ended.promise, stop }
  return { server, end: ended.resolve, isStopped: () => isStopped }
}

function events() {
  const seen: string[] = []
  return {
    seen,
    onDiskFull: (message: string) => void seen.push(message),
    onCrash: (message: string) => void seen.push(message),
    onRestartFailure: (message: string) => void seen.push(`not restarted: ${message}`),
    onRestart: () => void seen.push('restarted'),
  }
}

test('a server that a full disk ended is started when there is room, and again when the start fills the disk', async () => {
  const [first, second, log] = [serverThatEnds(), serverThatEnds(), events()]
  const attempts: string[] = []
  const rooms = [false, true, true]
  const server = keepRunning(
    first.server,
    {
      hasRoom: () => {
        const hasRoom = rooms.shift() ?? false
        attempts.push(hasRoom ? 'room' : 'no room')
        return hasRoom
      },
      start: async () => {
        attempts.push('start')
        if (rooms.length > 0) throw FULL
        return second.server
      },
    },
    log,
  )
  first.end(FULL)
  await expect.poll(() => log.seen).toEqual([FULL.message, 'restarted'])
  expect(attempts).toEqual(['no room', 'room', 'start', 'room', 'start'])

  const other = new StartError('PostgreSQL ended (code 2)')
  second.end(other)
  expect(await server.ended).toBe(other)
  await server.stop()
  expect([first.isStopped(), second.isStopped()]).toEqual([false, true])
})

test('a server that crashed is started again', async () => {
  const [first, second, log] = [serverThatEnds(), serverThatEnds(), events()]
  keepRunning(first.server, { hasRoom: () => true, start: async () => second.server }, log)
  first.end(new ServerCrashed('PostgreSQL ended (code 1)'))
  await expect.poll(() => log.seen).toEqual(['PostgreSQL ended (code 1)', 'restarted'])
})

test('a server that crashes again while it recovers is started until it runs, and reported once', async () => {
  const [first, second, log] = [serverThatEnds(), serverThatEnds(), events()]
  const failures = [
    new ServerCrashed('the startup process was killed'),
    new StartError('PostgreSQL ended (code 137)'),
    Object.assign(new Error('EROFS: read-only file system'), { code: 'EROFS' }),
  ]
  const start = async () => {
    const failure = failures.shift()
    if (failure !== undefined) throw failure
    return second.server
  }
  const server = keepRunning(first.server, { hasRoom: () => true, start }, log)
  first.end(new ServerCrashed('PostgreSQL ended (code 1)'))
  await expect
    .poll(() => log.seen, { timeout: 60_000 })
    .toEqual(['PostgreSQL ended (code 1)', 'not restarted: the startup process was killed', 'restarted'])
  await server.stop()
  expect(second.isStopped()).toBe(true)
})

test('a stop while the disk is full ends the wait for room', async () => {
  const [first, log] = [serverThatEnds(), events()]
  const server = keepRunning(first.server, { hasRoom: () => false, start: () => expect.fail('it was started') }, log)
  first.end(FULL)
  await expect.poll(() => log.seen).toEqual([FULL.message])
  await server.stop()
  expect([first.isStopped(), log.seen]).toEqual([true, [FULL.message]])
})

test('a server that starts while it is stopped is stopped, too', async () => {
  const [first, second] = [serverThatEnds(), serverThatEnds()]
  const [starting, started] = [Promise.withResolvers<void>(), Promise.withResolvers<Server>()]
  const start = () => {
    starting.resolve()
    return started.promise
  }
  const server = keepRunning(first.server, { hasRoom: () => true, start }, {})
  first.end(FULL)
  await starting.promise
  const stopped = server.stop()
  started.resolve(second.server)
  await stopped
  expect(second.isStopped()).toBe(true)
})
