import { execFileSync, spawn } from 'node:child_process'
import { chmodSync, existsSync, globSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { connect } from '../../src/db/connect.ts'
import { freePort } from '../free-port.ts'
import { until } from '../parley-process.ts'
import { temporaryFolder } from '../temporary-folder.ts'

export type OwnServer = {
  /** The folder of psql, pg_dump and pg_restore of the server's version. */
  programs: string
  /** As the superuser, in the database `postgres`. */
  adminUrl: string
  stop(): Promise<void>
}

/** A PostgreSQL of the operating system with its own programs, on a port of its own; undefined where there is none. */
export async function startOwnServer(): Promise<OwnServer | undefined> {
  const initdb = globSync('/usr/lib/postgresql/*/bin/initdb').sort().at(-1)
  if (initdb === undefined || !existsSync(join(dirname(initdb), 'pg_dump'))) return undefined
  const programs = dirname(initdb)
  const folder = mkdtempSync(join(temporaryFolder(), 'parley-own-'))
  chmodSync(folder, 0o777)
  const data = join(folder, 'data')
  const password = join(folder, 'password')
  writeFileSync(password, 'admin-secret')
  // PostgreSQL refuses to run as root.
  const as = process.getuid?.() === 0 ? ['runuser', '-u', 'postgres', '--'] : ['env']
  const run = (program: string, ...args: string[]) => [...as, join(programs, program), ...args] as [string, ...string[]]
  const [first, ...rest] = run(
    'initdb',
    '-D',
    data,
    '-U',
    'admin',
    '--auth=scram-sha-256',
    `--pwfile=${password}`,
    '-N',
  )
  execFileSync(first, rest, { stdio: 'ignore', cwd: folder })
  const port = await freePort()
  const settings = [`port=${port}`, 'fsync=off', `unix_socket_directories=${folder}`, 'listen_addresses=127.0.0.1']
  const [command, ...args] = run('postgres', '-D', data, ...settings.flatMap((setting) => ['-c', setting]))
  const server = spawn(command, args, { stdio: 'ignore', cwd: folder })
  const adminUrl = `postgres://admin:admin-secret@127.0.0.1:${port}/postgres`
  await until('the server answers', async () => {
    const db = connect(adminUrl, { max: 1 })
    const answer = await db`select 1`.then(
      () => true,
      () => false,
    )
    await db.end({ timeout: 0 })
    return answer
  })
  const stop = async () => {
    const [program, ...rest] = run('pg_ctl', 'stop', '-D', data, '-m', 'immediate')
    execFileSync(program, rest, { stdio: 'ignore', cwd: folder })
    server.kill()
    rmSync(folder, { recursive: true, force: true })
  }
  return { programs, adminUrl, stop }
}
