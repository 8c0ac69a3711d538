import { spawn, spawnSync } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { connect } from '../../src/db/connect.ts'
import { freePort } from '../free-port.ts'
import { dataFolder, until } from '../parley-process.ts'

/** PgBouncer refuses to run as root: in a user namespace it has another user id and keeps root's rights on files. */
const RUN = process.getuid?.() === 0 ? ['unshare', '--user', '--map-user=65534'] : ['env']

const program = [
  '/usr/sbin/pgbouncer',
  ...(process.env.PATH ?? '').split(':').map((folder) => join(folder, 'pgbouncer')),
].find((path) => existsSync(path))

/** The version of PgBouncer on this machine; undefined where it is not installed or cannot run. */
export function poolerVersion(): string | undefined {
  if (program === undefined) return undefined
  const [command = '', ...args] = [...RUN, program, '--version']
  return /PgBouncer (\S+)/.exec(spawnSync(command, args, { encoding: 'utf8' }).stdout ?? '')?.[1]
}

/** A PgBouncer before the server of a test database, with its defaults: it refuses parameters of the login that it does not know. */
export async function startPooler(
  url: string,
  mode: 'session' | 'transaction',
  whenDone: (clean: () => void) => void = onTestFinished,
): Promise<string> {
  const folder = dataFolder(undefined, whenDone)
  const { pathname, searchParams, username, port: serverPort } = new URL(url)
  const port = await freePort()
  const settings = {
    listen_addr: '127.0.0.1',
    listen_port: port,
    unix_socket_dir: '',
    auth_type: 'any',
    pool_mode: mode,
    default_pool_size: mode === 'session' ? 60 : 10,
    max_client_conn: 500,
    logfile: join(folder, 'pgbouncer.log'),
  }
  const server = `host=${searchParams.get('host')} port=${serverPort || 5432} user=${username}`
  const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}`)
  const file = join(folder, 'pgbouncer.ini')
  writeFileSync(file, ['[databases]', `* = ${server}`, '[pgbouncer]', ...lines, ''].join('\n'))
  const [command = '', ...args] = [...RUN, program ?? '', '--quiet', file]
  const pooler = spawn(command, args, { stdio: 'inherit' })
  const address = `postgres://${username}@127.0.0.1:${port}${pathname}`
  whenDone(() => void pooler.kill('SIGKILL'))
  await until('the pooler answers', async () => {
    const db = connect(`${address}?pgbouncer=true`, { max: 1 })
    await db`select 1`.finally(() => db.end({ timeout: 0 }))
    return true
  })
  return address
}
