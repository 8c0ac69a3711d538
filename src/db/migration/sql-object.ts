import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { messageOf, StartError } from '../../start-error.ts'
import type { Db } from '../connect.ts'
import { isDatabaseDown } from '../pool/failure.ts'

/** A function, view or type of the database: its current text stands in one file, `<room>/sql/<name>.sql`. */
export type SqlObject = { kind: 'type' | 'view' | 'function'; name: string; file: string; text: string }

/** In this order each object finds those it is made of. */
const KINDS = ['type', 'view', 'function']

/**
 * Reads the objects below a folder, in the order in which they can be created.
 *
 * @throws Error when a file does not create exactly one object that is named like the file.
 */
export async function readSqlObjects(folder: string): Promise<SqlObject[]> {
  const names = await readdir(folder, { recursive: true })
  const files = names.filter((name) => /(^|\/)sql\/[^/]+\.sql$/.test(name)).sort()
  const objects = await Promise.all(
    files.map(async (file) => parseObject(file, await readFile(join(folder, file), 'utf8'))),
  )
  return objects.sort(
    (a, b) => KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind) || Number(uses(a, b)) - Number(uses(b, a)),
  )
}

function uses(a: SqlObject, b: SqlObject): boolean {
  return new RegExp(`\\b${b.name}\\b`).test(a.text)
}

function parseObject(file: string, text: string): SqlObject {
  const [first, second] = [...text.matchAll(/^create (type|view|function) (\w+)/gm)]
  const expected = file.slice(file.lastIndexOf('/') + 1, -'.sql'.length).replaceAll('-', '_')
  const kind = KINDS.find((name) => name === first?.[1])
  if (!kind || !isKind(kind) || first?.[2] !== expected || second) {
    throw new Error(`${file} must create one type, view or function, named ${expected}`)
  }
  return { kind, name: expected, file, text }
}

function isKind(kind: string): kind is SqlObject['kind'] {
  return KINDS.includes(kind)
}

/**
 * Brings the objects of the database to the text of their files: when any of them differs, drops all of them and
 * creates them again, within the caller's transaction. A transaction of another session sees either all old or all new
 * ones.
 * @returns whether anything changed.
 * @throws StartError that names the file when the database refuses one.
 */
export async function replaceSqlObjects(tx: Db, objects: SqlObject[]): Promise<boolean> {
  const created = await listCreated(tx)
  if (areEqual(created, objects)) return false
  for (const kind of KINDS.toReversed()) {
    for (const { name } of created.filter((object) => object.kind === kind)) {
      // A type takes along the types that are made of it, which may come first.
      await tx.unsafe(`drop ${kind} if exists ${name}${kind === 'type' ? ' cascade' : ''}`)
    }
  }
  await tx`delete from sql_objects`
  // Functions may name each other, whatever their order.
  await tx`set local check_function_bodies = off`
  for (const object of objects) {
    await create(tx, object)
    await tx`insert into sql_objects (name, kind, checksum) values (${object.name}, ${object.kind}, ${checksum(object)})`
  }
  return true
}

/** Whether the objects of the database are not those of the files. */
export async function differFromFiles(db: Db, objects: SqlObject[]): Promise<boolean> {
  return !areEqual(await listCreated(db), objects)
}

type Created = { kind: SqlObject['kind']; name: string; checksum: string }

async function listCreated(db: Db): Promise<Created[]> {
  return db<Created[]>`select kind, name, checksum from sql_objects`
}

function areEqual(created: Created[], objects: SqlObject[]): boolean {
  const checksums = new Map(created.map(({ name, checksum }) => [name, checksum]))
  return objects.length === created.length && objects.every((object) => checksums.get(object.name) === checksum(object))
}

async function create(tx: Db, { file, text }: SqlObject): Promise<void> {
  try {
    await tx.unsafe(text)
  } catch (error) {
    if (isDatabaseDown(error)) throw error
    throw new StartError(`src/${file} cannot be created, and nothing was changed: ${messageOf(error)}`, error)
  }
}

function checksum({ text }: SqlObject): string {
  return createHash('sha256').update(text).digest('hex')
}
