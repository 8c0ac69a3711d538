import { createHash, createHmac, scryptSync } from 'node:crypto'
import { createWriteStream, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { expect, test } from 'vitest'
import { newStorageKey } from '../../src/media/blobs/blob-store.ts'
import { exportCompany, importCompany, type MoveDeps } from '../../src/moves/move-company.ts'
import { claimImport, noteFile, releaseImport } from '../../src/moves/moving-file-store.ts'
import { expireAll } from '../lifetimes.ts'
import { startTestService, type TestService } from '../service.ts'
import { createTestFolder } from '../temporary-folder.ts'

const PASSPHRASE = 'a passphrase of the move'
const source = await startTestService()
const target = await startTestService()
const folder = await createTestFolder()
// Ids of the source lie beyond those of the target's own companies.
await source.db`select setval(pg_get_serial_sequence('companies', 'id'), 5000)`
const victim = await target.createCompany({ isConnected: false })

const moveOf = ({ deps }: TestService): MoveDeps => ({ ...deps, ...deps.config, db: deps.pool })
const at = (name: string) => ({ file: join(folder, name), passphrase: PASSPHRASE })

/** A company of the source with files, exported. Returns the keys of the files. */
async function exported(name: string, files: number) {
  const { companyId } = await source.createCompany({ isConnected: false })
  const keys: string[] = []
  for (let n = 1; n <= files; n += 1) {
    const key = newStorageKey(companyId)
    const bytes = Buffer.alloc(1024 * 1024, n)
    await source.deps.blobStore.put(key, Readable.from([bytes]), { mimeType: 'image/webp', maxBytes: bytes.length })
    await source.db`
      insert into contact_imports (company_id, format, columns, storage_key, size_bytes, rows, read_bytes, read_lines)
      values (${companyId}, 'csv', '{email}', ${key}, 1, 1, 0, 0)`
    keys.push(key)
  }
  await exportCompany(moveOf(source), companyId, { ...at(name), cachedSeconds: 0 })
  return { companyId, keys }
}

type Line = Record<string, unknown> & { table?: string; row?: string }

/** Changes lines of an archive, and signs them again as a holder of the passphrase can. */
function alter(name: string, change: (line: Line) => Line): void {
  const lines = readFileSync(at(name).file, 'utf8')
    .trimEnd()
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line))
  const [header] = lines
  const text = lines.map((line) => `${JSON.stringify(change(line))}\n`).join('')
  const key = scryptSync(PASSPHRASE, Buffer.from(header.salt, 'base64'), 64).subarray(32)
  const end = { lines: lines.length, hmac: createHmac('sha256', key).update(text).digest('hex') }
  writeFileSync(at(name).file, `${text}${JSON.stringify({ end })}\n`)
}

const toVictim = (line: Line): Line =>
  line.table === 'api_keys'
    ? { ...line, row: JSON.stringify({ ...JSON.parse(line.row ?? ''), company_id: victim.companyId }) }
    : line
const keysOf = (companyId: number) => target.db`select client_id from api_keys where company_id = ${companyId}`
const companiesOf = (companyId: number) => target.db`select id from companies where id = ${companyId}`

test('an archive that was altered without the passphrase is refused before any row is written', async () => {
  const { companyId } = await exported('forged', 0)
  const before = await keysOf(victim.companyId)
  const lines = readFileSync(at('forged').file, 'utf8').trimEnd().split('\n').slice(0, -1)
  const text = lines.map((line) => `${JSON.stringify(toVictim(JSON.parse(line)))}\n`).join('')
  // A checksum, for which no passphrase is needed, and an authentication code with another key.
  const sha256 = createHash('sha256').update(text).digest('hex')
  const hmac = createHmac('sha256', 'guess').update(text).digest('hex')
  writeFileSync(at('forged').file, `${text}${JSON.stringify({ end: { lines: lines.length, sha256, hmac } })}\n`)
  await expect(importCompany(moveOf(target), at('forged'))).rejects.toThrow('The file is damaged')
  expect([await companiesOf(companyId), await keysOf(victim.companyId)]).toEqual([[], before])
})

test('every row of an archive gets the company of its header', async () => {
  const { companyId } = await exported('planted', 0)
  const before = await keysOf(victim.companyId)
  alter('planted', toVictim)
  await importCompany(moveOf(target), at('planted'))
  expect(await keysOf(victim.companyId)).toEqual(before)
  expect(await keysOf(companyId)).toHaveLength(1)
})

test('an archive replaces no file of another company', async () => {
  const { companyId } = await exported('file', 1)
  const foreign = newStorageKey(victim.companyId)
  alter('file', (line) => (line.blob === undefined ? line : { ...line, blob: foreign }))
  await expect(importCompany(moveOf(target), at('file'))).rejects.toThrow('which is of another company')
  expect(await companiesOf(companyId)).toEqual([])
  expect(await target.deps.blobStore.open(foreign)).toBeUndefined()
})

test('an archive whose file has a path as its name is refused, and stops no later import and no expiry of data', async () => {
  const { companyId } = await exported('path', 1)
  alter('path', (line) => (line.blob === undefined ? line : { ...line, blob: `${companyId}-../../planted` }))
  await expect(importCompany(moveOf(target), at('path'))).rejects.toThrow('a file with an invalid name')
  expect(await target.db`select from moving_files`).toHaveLength(0)
  await exported('later', 1)
  await importCompany(moveOf(target), at('later'))
  await expireAll(target.deps)
})

test('an archive moves no sequence of ids beyond what all companies can use', async () => {
  const { companyId } = await exported('ids', 1)
  alter('ids', (line) =>
    line.table === 'contact_imports'
      ? { ...line, row: (line.row ?? '').replace(/"id": \d+/, '"id": 9007199254740990') }
      : line,
  )
  await expect(importCompany(moveOf(target), at('ids'))).rejects.toThrow('The file has ids above 1000000000000000')
  expect(await companiesOf(companyId)).toEqual([])
})

test('an archive that is one endless line is refused before it is in memory', async () => {
  writeFileSync(at('endless').file, '{"format":"')
  // Longer than a string can be; the bytes take no space on the disk.
  truncateSync(at('endless').file, 700 * 1024 * 1024)
  await expect(importCompany(moveOf(target), at('endless'))).rejects.toThrow('The file is damaged')
})

test('an import into a full storage ends with its error, and leaves neither rows nor files', async () => {
  const { companyId, keys } = await exported('full', 2)
  const real = target.deps.blobStore
  const blobStore = {
    ...real,
    put: async (...[key, body, meta]: Parameters<typeof real.put>) => {
      if (key === keys[0]) return real.put(key, body, meta)
      await pipeline(body, createWriteStream('/dev/full'))
      throw new Error('/dev/full took everything')
    },
  }
  await expect(importCompany({ ...moveOf(target), blobStore }, at('full'))).rejects.toThrow('ENOSPC')
  expect(await companiesOf(companyId)).toEqual([])
  expect(await real.open(keys[0]!)).toBeUndefined()
  expect(await target.db`select from moving_files`).toHaveLength(0)
  await importCompany(moveOf(target), at('full'))
  for (const key of keys) expect((await real.open(key))?.destroy()).toBeDefined()
})

test('files of an import that was killed are removed, and those of one that runs are not', async () => {
  const companyId = 7_000
  const key = newStorageKey(companyId)
  await target.deps.blobStore.put(key, Readable.from(['left']), { mimeType: 'image/webp', maxBytes: 10 })
  await noteFile(target.db, companyId, key)
  const sweep = () => expireAll(target.deps)
  const isThere = async () => {
    const file = await target.deps.blobStore.open(key)
    file?.destroy()
    return file !== undefined
  }
  const claim = (await claimImport(target.db, companyId))!
  expect(await claimImport(target.db, companyId)).toBeUndefined()
  await sweep()
  expect(await isThere()).toBe(true)
  expect(await releaseImport(target.db, claim)).toBe(true)
  await sweep()
  expect(await isThere()).toBe(false)
  expect(await target.db`select from moving_files`).toHaveLength(0)
})
