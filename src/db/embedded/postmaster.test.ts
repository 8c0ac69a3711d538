import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { processesOn, readyFolder, until } from '../../../test/parley-process.ts'
import { connect } from '../connect.ts'
import { openDataFolder, socketLock } from './folder.ts'
import { startEmbedded } from './start.ts'

const TIMEOUT = 300_000

/** A process that has ended, and whose parent reads how only when it ends itself, after so many seconds. */
async function makeZombie(seconds: number): Promise<number> {
  const parent = spawn('sh', ['-c', `sleep 0.2 & echo $!; exec sleep ${seconds}`], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  onTestFinished(() => void parent.kill('SIGKILL'))
  const [line] = await once(parent.stdout, 'data')
  const pid = Number(line)
  await until('it is a zombie', () => /\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8')))
  return pid
}

/** A folder whose server was killed with all its processes; its lock files name `pid`. */
async function killedServer(pid: number): Promise<string> {
  const path = await readyFolder()
  const folder = await openDataFolder(path)
  const locks = [join(folder.cluster, 'postmaster.pid'), socketLock(folder)]
  const server = await startEmbedded(path, { fsync: 'off' })
  const texts = locks.map((lock) => readFileSync(lock, 'utf8'))
  const [main] = texts[0]!.split('\n')
  process.kill(Number(main), 'SIGKILL')
  await server.ended
  await server.stop()
  await until('all its processes have ended', () => processesOn(path).length === 0)
  for (const [place, lock] of locks.entries()) writeFileSync(lock, texts[place]!.replace(main!, String(pid)))
  return path
}

test.runIf(process.platform === 'linux').each([
  { name: 'is collected after two seconds', seconds: 2 },
  { name: 'is never collected', seconds: 600 },
])(
  'a start beside the zombie of a killed server, which $name, goes well',
  async ({ seconds }) => {
    const path = await killedServer(await makeZombie(seconds))
    const server = await startEmbedded(path, { fsync: 'off' })
    onTestFinished(() => server.stop())
    const db = connect(server.url, { max: 1 })
    expect(await db`select 1 as one`).toEqual([{ one: 1 }])
    await db.end()
  },
  TIMEOUT,
)

test(
  'lock files that name another program by now keep no server from starting',
  async () => {
    const path = await killedServer(process.pid)
    const server = await startEmbedded(path, { fsync: 'off' })
    onTestFinished(() => server.stop())
    expect(existsSync(join(path, 'postgres', 'postmaster.pid'))).toBe(true)
  },
  TIMEOUT,
)
