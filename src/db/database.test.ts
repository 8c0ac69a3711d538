import { cpSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { createCertificate } from '../../test/deploy/certificate.ts'
import { startTlsRelay } from '../../test/deploy/tls-relay.ts'
import { freePort } from '../../test/free-port.ts'
import { dataFolder } from '../../test/parley-process.ts'
import { temporaryFolder } from '../../test/temporary-folder.ts'
import { StartError } from '../platform/start-error.ts'
import { connect } from './connect.ts'
import { openDatabase, openPool } from './database.ts'
import { startEmbedded } from './embedded/start.ts'
import { migrate } from './migration/migrate.ts'

const TIMEOUT = 300_000
let primary: number
let standby: number
let dead: number
/** The certificate of the primary, for localhost, which has issued itself. */
let ca: string

/** A primary and a standby made of the same data, both on TCP as a database of the operator's own is. */
beforeAll(async () => {
  const cleanups: (() => void)[] = []
  const [first, second] = [1, 2].map(() => dataFolder(temporaryFolder(), (clean) => cleanups.push(clean))) as [
    string,
    string,
  ]
  const hba = join(first, 'hba.conf')
  const rules = [
    ...['local all all trust', 'host all stranger,bound all scram-sha-256', 'host all plain all password'],
    'hostnossl all secret all reject',
  ]
  writeFileSync(hba, `${[...rules, 'host all all all trust'].join('\n')}\n`)
  ca = join(first, 'cert.pem')
  const { cert, key } = createCertificate()
  writeFileSync(ca, cert)
  writeFileSync(join(first, 'key.pem'), key, { mode: 0o600 })
  const tls = { ssl: 'on', ssl_cert_file: ca, ssl_key_file: join(first, 'key.pem') }
  const onTcp = async () => {
    const port = String(await freePort())
    return { fsync: 'off', synchronous_commit: 'off', listen_addresses: '127.0.0.1', port, hba_file: hba }
  }
  await (await startEmbedded(first, { fsync: 'off' })).stop()
  cpSync(join(first, 'postgres'), join(second, 'postgres'), { recursive: true })
  writeFileSync(join(second, 'postgres', 'standby.signal'), '')

  const settings = [{ ...(await onTcp()), ...tls }, await onTcp()] as const
  const servers = [await startEmbedded(first, settings[0]), await startEmbedded(second, settings[1])]
  ;[primary, standby, dead] = [Number(settings[0].port), Number(settings[1].port), await freePort()]
  return async () => {
    for (const server of servers) await server.stop()
    for (const clean of cleanups) clean()
  }
}, TIMEOUT)

const urlOf = (hosts: string, rest = '/parley') => `postgres://parley:hidden@${hosts}${rest}`
const at = (port: number) => `127.0.0.1:${port}`

async function refusal(databaseUrl: string): Promise<string> {
  const error = await openDatabase({ databaseUrl, dataDir: '/nowhere' }).catch((error: unknown) => error)
  expect(error).toBeInstanceOf(StartError)
  expect(String(error)).not.toContain('hidden')
  return String(error)
}

test('of several hosts the primary is taken, wherever it stands', async () => {
  for (const hosts of [
    [primary, standby],
    [standby, primary],
    [dead, standby, primary],
  ]) {
    const databaseUrl = urlOf(hosts.map(at).join(','), '/parley?target_session_attrs=primary')
    const { url } = await openDatabase({ databaseUrl, dataDir: '/nowhere' })
    const { db, stop } = openPool(url)
    onTestFinished(() => stop())
    expect(await db`select pg_is_in_recovery() as standby, inet_server_port() as port`).toEqual([
      { standby: false, port: primary },
    ])
    expect(await migrate(db)).toBeInstanceOf(Array)
  }
}, 300_000)

test('a standby alone is refused before anything is written', async () => {
  const db = connect(urlOf(at(standby)))
  onTestFinished(() => db.end())
  await expect(migrate(db)).rejects.toThrow('add target_session_attrs=primary')
})

test('an unusable database is reported with its remedy', async () => {
  expect(await refusal(urlOf(at(dead)))).toContain(`PostgreSQL at ${at(dead)} does not answer (ECONNREFUSED): start it`)
  expect(await refusal(urlOf(`${at(dead)},${at(await freePort())}`))).toContain('None of the PostgreSQL servers')
  const attribute = '/parley?target_session_attrs=primary'
  expect(await refusal(urlOf(at(standby), attribute))).toContain('is not what target_session_attrs')
  expect(await refusal(urlOf(`${at(dead)},${at(standby)}`, attribute))).toContain('None of the PostgreSQL servers')
  expect(await refusal(urlOf('nowhere.invalid'))).toContain('is not known (nowhere.invalid): correct DATABASE_URL')
  expect(await refusal(urlOf(at(primary), '/other'))).toContain('has no database other: create it (createdb other)')
  expect(await refusal(`postgres://stranger:hidden@${at(primary)}/parley`)).toContain('refuses the user or password')
}, 300_000)

/** Whether the connection at an address is encrypted. */
async function isEncrypted(databaseUrl: string): Promise<boolean> {
  const { url } = await openDatabase({ databaseUrl, dataDir: '/nowhere' })
  const { db, stop } = openPool(url, { max: 1 })
  const [row] = await db<[{ ssl: boolean }]>`select ssl from pg_stat_ssl where pid = pg_backend_pid()`
  await stop()
  return row.ssl
}

test('sslmode and sslrootcert mean what they mean to libpq', async () => {
  const localhost = `localhost:${primary}`
  const root = `&sslrootcert=${encodeURIComponent(ca)}`
  expect(await isEncrypted(urlOf(localhost))).toBe(false)
  expect(await isEncrypted(urlOf(localhost, '/parley?sslmode=disable'))).toBe(false)
  for (const mode of ['prefer', 'require', `require${root}`, `verify-ca${root}`, `verify-full${root}`]) {
    expect(await isEncrypted(urlOf(localhost, `/parley?sslmode=${mode}`)), mode).toBe(true)
  }
  expect(await isEncrypted(urlOf(localhost, `/parley?${root}`))).toBe(true)
  expect(await isEncrypted(urlOf(at(standby), '/parley?sslmode=prefer'))).toBe(false)
  // The address is not in the certificate: only its name and its issuer are.
  expect(await isEncrypted(urlOf(at(primary), `/parley?sslmode=verify-ca${root}`))).toBe(true)
  const several = `${at(dead)},${localhost}`
  const attribute = '&target_session_attrs=read-write'
  expect(await isEncrypted(urlOf(several, `/parley?sslmode=verify-full${root}${attribute}`))).toBe(true)
}, 300_000)

test('a fault of TLS is reported with its remedy', async () => {
  const localhost = `localhost:${primary}`
  const refusalOf = (hosts: string, parameters: string) => refusal(urlOf(hosts, `/parley?${parameters}`))
  expect(await refusalOf(localhost, 'sslmode=verify-full')).toContain('add sslrootcert=/path/of/ca.pem to DATABASE_URL')
  const root = `sslrootcert=${encodeURIComponent(ca)}`
  expect(await refusalOf(at(primary), `sslmode=verify-full&${root}`)).toContain('names another host')
  expect(await refusalOf(at(standby), 'sslmode=require')).toContain('takes no TLS, which sslmode in DATABASE_URL asks')
  expect(await refusalOf(localhost, 'sslmode=always')).toContain(
    'sslmode in DATABASE_URL must be one of disable, allow',
  )
  expect(await refusalOf(localhost, 'sslrootcert=/nowhere/ca.pem')).toContain(
    "/nowhere/ca.pem of sslrootcert in DATABASE_URL can't be read (ENOENT)",
  )
  expect(await refusal(`postgres://secret:hidden@${localhost}/parley`)).toContain(
    'sslmode=require if the server takes TLS only',
  )
}, 300_000)

test('channel_binding=require binds the login to the certificate of the server', async () => {
  const admin = connect(urlOf(at(primary)))
  onTestFinished(() => admin.end())
  for (const name of ['bound', 'plain']) await admin.unsafe(`create role ${name} login password 'hidden'`)
  const to = (role: string, port: number, parameters: string) =>
    `postgres://${role}:hidden@${at(port)}/parley?${parameters}`
  const required = 'sslmode=require&channel_binding=require'
  expect(await isEncrypted(to('bound', primary, required))).toBe(true)
  expect(await isEncrypted(to('bound', primary, 'sslmode=require&channel_binding=prefer'))).toBe(true)

  const relay = await startTlsRelay(primary, createCertificate())
  expect(await isEncrypted(to('bound', relay, 'sslmode=require'))).toBe(true)
  expect(await refusal(to('bound', relay, required))).toContain('channel binding check failed')

  const unbound = 'which channel_binding=require in DATABASE_URL asks for: use sslmode=require'
  expect(await refusal(to('bound', primary, 'channel_binding=require'))).toContain(unbound)
  expect(await isEncrypted(to('plain', primary, 'sslmode=require'))).toBe(true)
  expect(await refusal(to('plain', primary, required))).toContain(unbound)
  expect(await refusal(to('parley', primary, required))).toContain(unbound)
}, 300_000)
